"""Compares which numbers two services give to the same classes; knows messages, no connection and no socket."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from loader_service.protocol.messages import FieldClasses, Welcome

_LOG = logging.getLogger(__name__)

#: Classes that are shown, of all that differ.
_SHOWN = 5

#: Different classes that are remembered.
_REMEMBERED = 16


def difference(before: Iterable[FieldClasses], after: Iterable[FieldClasses]) -> str:
    """Return in words which classes have other numbers than before; empty when none has."""
    old = {each.field: each for each in before}
    new = {each.field: each for each in after}
    fields = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return "; ".join(_of_field(name, old.get(name), new.get(name)) for name in fields)


def other_catalog(endpoint: str, before: Welcome, after: Welcome) -> str:
    """Return in words that a service came back with another catalog than before."""
    counts = ", ".join(
        f"{name} {getattr(before, name)} → {getattr(after, name)}"
        for name in ("files", "videos", "frames")
        if getattr(before, name) != getattr(after, name)
    )
    differences = [each for each in (counts, difference(before.classes, after.classes)) if each]
    said = "; ".join(differences or ["same counts, modified files or labels"])
    return (
        f"the service at {endpoint} came back with another catalog: {said}; "
        "training cannot go on in the same order; start it again, or restart the service on the old files"
    )


def _of_field(name: str, old: FieldClasses | None, new: FieldClasses | None) -> str:
    if old is None or new is None:
        return f"{name!r} has {'no classes any more' if new is None else 'classes now'}"
    was, is_now = _numbers(old), _numbers(new)
    changed = [
        f"{each!r} {was.get(each, 'none')} → {is_now.get(each, 'none')}"
        for each in dict.fromkeys([*was, *is_now])
        if was.get(each) != is_now.get(each)
    ]
    if not changed:
        return f"classes of {name!r}: {old.count} → {new.count}"
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return f"classes of {name!r}: {', '.join(changed[:_SHOWN])}{more}"


def _numbers(classes: FieldClasses) -> dict[str, int]:
    return {name: number for number, name in enumerate(classes.names)}


class ClassWatch:
    """Notices when services of one process give different numbers to one class: a training and its validation, say.

    It remembers services that have ended too: a model that one has trained may be evaluated with another.
    """

    def __init__(self) -> None:
        self._known: dict[FieldClasses, str] = {}  # and the endpoint where each was met last, the latest at the end

    def opened(self, endpoint: str, classes: Iterable[FieldClasses], fields: Iterable[str]) -> None:
        """Note that a stream with these fields was opened; warn if its classes have other numbers elsewhere."""
        names = set(fields)
        for ours in classes:
            if ours.field in names:
                if ours not in self._known:
                    self._compare(endpoint, ours)
                self._known.pop(ours, None)
                self._known[ours] = endpoint
        while len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]

    def _compare(self, endpoint: str, ours: FieldClasses) -> None:
        """Warn of the first class that has another number in the service that was met last."""
        for theirs, other in reversed(list(self._known.items())):
            numbers = _numbers(theirs) if theirs.field == ours.field else {}
            for number, name in enumerate(ours.names):
                if numbers.get(name, number) != number:
                    _LOG.warning(
                        "the class %r of the field %r is %d at %s and %d at %s: labels of the two do not compare; give "
                        "both services the same --classes FILE, which `loader-service inspect --classes FILE` writes",
                        name, ours.field, numbers[name], other, number, endpoint,
                    )  # fmt: skip
                    return


#: That of this process.
WATCH = ClassWatch()
