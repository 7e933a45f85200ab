"""Finds a user's own class or function by its name, and turns what it raises into errors; knows not what it is for."""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from loader_service.errors import SourceError

#: Folder of this package, whose own lines are no place in a user's code.
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

#: Folders of Python's own library; with what is installed, which is not Python's, often below it.
_PYTHONS = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})

#: Where packages are installed, with the name of one.
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/[^/]+")

#: Characters of a line of code that are shown.
_MOST_OF_LINE = 120

#: Characters of what a user's code says that are passed on; a message has room for more, but nobody reads it.
_MOST_CHARACTERS = 600

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


#: How a file of Python ends, which a module's name does not.
_FILE = ".py"


def _module_of(file: str) -> str:
    """Return the name by which what is in a file is imported."""
    return ".".join(part for part in file.removesuffix(_FILE).split("/") if part not in {"", ".", ".."})


def load(reference: str) -> Any:
    """Return what a reference such as ``package.module:Name`` or ``package.module:Name.attribute`` names.

    The module is looked for in the directory in which the service was started, then where Python looks. What it imports
    comes from that directory only where nothing else has that name, so a file there takes the place of no library.

    Raises
    ------
    SourceError
        When there is no such thing, or importing it raises.
    """
    found, rest = load_first(reference)
    for part in rest:
        found = attribute(found, part, reference)
    return found


def load_first(reference: str) -> tuple[Any, list[str]]:
    """Return what the first name after the colon names, and the names that follow it; raises as `load` does."""
    if not _REFERENCE.fullmatch(reference):
        file, _, name = reference.partition(":")
        like = f"{_module_of(file)}:{name}" if file.endswith(_FILE) and name else "my_data:Scenes"
        raise SourceError(f"{reference!r} names nothing; give package.module:Name, such as {like}")
    module_name, _, path = reference.partition(":")
    first, *rest = path.split(".")
    return attribute(_import(module_name), first, reference), rest


def attribute(owner: Any, name: str, reference: str) -> Any:
    """Return an attribute of a module, class or object; raises as `load` does."""
    try:
        with blamed(f"{reference!r}"):
            return getattr(owner, name)
    except SourceError as error:
        if not isinstance(error.__cause__, AttributeError):
            raise
        public = [each for each in dir(owner) if not each.startswith("_") and _is_own(owner, each)]
        shown = ", ".join(public[:10]) or "nothing public"
        raise SourceError(
            f"{reference!r}: {getattr(owner, '__name__', type(owner).__name__)!r} has no {name!r}; it has {shown}"
        ) from error


def _is_own(owner: Any, name: str) -> bool:
    """Return whether a thing is no import of a module's from elsewhere."""
    return not inspect.ismodule(owner) or getattr(getattr(owner, name), "__module__", None) == owner.__name__


@contextmanager
def blamed(what: str) -> Iterator[None]:
    """Run a user's code; whatever it raises, an attempt to exit included, becomes a `SourceError` that begins so."""
    try:
        yield
    except SourceError:
        raise
    except BaseException as error:  # also SystemExit, or what an event loop ends with: it is only this code's end
        raise SourceError(f"{what} raised {describe(error)}") from error


def describe(error: BaseException) -> str:
    """Return an exception's type and text, and the innermost line of the user's code that it has passed."""
    text = " ".join(_text(error).split()) or "no message"
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]}…"
    return f"{type(error).__name__}: {text}{_place(error)}"


def _place(error: BaseException) -> str:
    """Return file, number and text of the innermost line that is the user's own, not of a library that it calls.

    What was installed is a library, unless all is: then the user's package is the one whose code was called first.
    """
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    places = [place for place in places if not _is_pythons_or_ours(place[0])]
    own = [place for place in places if _package(place[0]) is None]
    if not own:
        own = [place for place in places if _package(place[0]) == _package(places[0][0])]
    if not own:
        return ""
    path, line = own[-1]
    text = linecache.getline(path, line).strip()
    if len(text) > _MOST_OF_LINE:
        text = f"{text[:_MOST_OF_LINE]}…"
    return f" ({path}:{line}: {text})" if text else f" ({path}:{line})"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - an exception's text is a user's code as well
        return f"no text, since that raised {type(second).__name__}"


def _is_pythons_or_ours(path: str) -> bool:
    return path.startswith(("<", _OURS)) or (path.startswith(_PYTHONS) and _package(path) is None)


def _package(path: str) -> str | None:
    """Return the folder or file of the installed package that a file belongs to; None of one that is not installed."""
    found = _INSTALLED.match(path)
    return None if found is None else found[0]


class _FirstHere:
    """Finds one module in a folder before Python looks elsewhere, while it is a context; others it leaves to Python."""

    def __init__(self, name: str, folder: str) -> None:
        self._name = name
        self._folder = folder

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Answer Python's import system."""
        if name != self._name:
            return None
        found = PathFinder.find_spec(name, [self._folder])
        return found if found is not None and found.loader is not None else None  # a folder without code is no module

    def __enter__(self) -> _FirstHere:
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)


def _import(name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    first = name.partition(".")[0]
    _check_name(first, here)
    try:
        with _FirstHere(first, here), blamed(f"importing {name!r}"):
            return importlib.import_module(name)
    except SourceError as error:
        cause = error.__cause__
        if name.endswith(_FILE):
            raise SourceError(f"{name!r} is a file; name the module in it, {_module_of(name)!r}") from error
        if isinstance(cause, ModuleNotFoundError) and cause.name and f"{name}.".startswith(f"{cause.name}."):
            raise SourceError(
                f"there is no module {cause.name!r}, looked for in {here!r} and where Python looks; start the service "
                "in the directory that holds it, or install it"
            ) from error
        raise


def _check_name(module: str, folder: str) -> None:
    """Refuse a user's module that has the name of one that Python or this package needs; it could not have both."""
    found = PathFinder.find_spec(module, [folder])
    if found is None or found.loader is None:
        return
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if module in sys.stdlib_module_names or (loaded is not None and not _is_same(loaded, found.origin)):
        raise SourceError(
            f"{module!r} is a module in {folder!r}, and Python or the service uses another of that name; rename yours"
        )


def _is_same(path: str, other: str | None) -> bool:
    try:
        return other is not None and os.path.samefile(path, other)
    except OSError:
        return False
