"""A process that reads videos for `pack`, and writes their bytes where it is told. Started by `pack_pool`.

Requests and replies are lines of JSON. ``read`` names items, and is answered by what each is: sizes, datasets,
checksums; the bytes stay here until ``write`` says at which place of which file. So bytes never go through another
process, and lie in one order however many processes there are.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

from loader_service.conversion.write_remedies import OutputError, output_error
from loader_service.errors import LoaderError, PackError
from loader_service.failpoints import passing
from loader_service.lifeline import answers, told
from loader_service.pack.frame_blob import FrameBlob, FrameSink
from loader_service.pack.records import Beside, Item, PackedVideo, Recoding, to_plain
from loader_service.pack.source_files import expect, know
from loader_service.pack.sources import KIND_NAMED
from loader_service.pack.sources.source_kind import Unchanged
from loader_service.stores.object_version import ObjectVersion


@dataclass(frozen=True)
class PackWorkerOptions:
    """What such a process is told: the fields of `Recoding`, and a folder for files without a name."""

    recoding: dict[str, Any]
    folder: str


def read_item(item: Item, recoding: Recoding, sink: FrameSink) -> tuple[PackedVideo, FrameBlob]:
    """Read one video whole.

    Raises
    ------
    LoaderError
        When it cannot be read, or changes meanwhile.
    OSError
        Likewise.
    OutputError
        When the file for a large one cannot be written.
    """
    passing("reading", item.name)
    if item.fault:
        raise PackError(item.fault)
    kind = KIND_NAMED[item.kind]
    files = Unchanged(kind.files(item))
    beside = kind.read(item, recoding, sink)
    files.check()
    blob = sink.finish(beside, f"{item.path!r}, video {item.name!r}")
    times = beside.columns.get("time_s")
    record = PackedVideo(
        name=item.name,
        source=item.path,
        modified_ns=files.modified_ns,
        source_bytes=item.size_bytes,
        frames=blob.frames,
        datasets=tuple(blob.datasets),
        attributes=_attributes(item, beside),
        size_bytes=blob.size_bytes,
        crc32=blob.crc32,
        times_s=None if times is None else (float(times[0]), float(times[-1])),
        forms=sink.forms,
        turned=sink.turned,
    )
    return record, blob


def _attributes(item: Item, beside: Beside) -> dict[str, Any]:
    label = item.label if beside.label is None else beside.label
    found = {name: to_plain(value) for name, value in beside.values.items()}
    if beside.frame_rate is not None:
        found["frame_rate"] = beside.frame_rate
    return found if label is None else found | {"label": to_plain(label)}


class _Desk:
    """The units that were read, and wait to be written."""

    def __init__(self, options: PackWorkerOptions, replies: BinaryIO) -> None:
        self._recoding = Recoding(**options.recoding)
        self._folder = options.folder
        self._replies = replies
        self._held: dict[int, list[FrameBlob | None]] = {}

    def say(self, reply: dict[str, Any]) -> None:
        """Send one line."""
        self._replies.write(json.dumps(reply).encode("ascii") + b"\n")
        self._replies.flush()

    def read(self, unit: int, items: list[dict[str, Any]], bad: dict[str, str]) -> None:
        """Read the videos of a unit, and say which one it is at, and what they are.

        Parameters
        ----------
        bad
            Why some, by their place, are not to be read: other processes have ended over them.
        """
        held: list[FrameBlob | None] = []
        said: list[dict[str, Any]] = []
        chosen = [Item.of_json(each) for each in items]
        with suppress(LoaderError):  # reading them says so
            expect(part for item in chosen if not item.fault for part in KIND_NAMED[item.kind].parts(item))
        for place, item in enumerate(chosen):
            if str(place) in bad:
                held.append(None)
                said.append({"failed": bad[str(place)]})
                continue
            self.say({"unit": unit, "at": place})
            sink = FrameSink(self._folder, lambda frames: self.say({"unit": unit, "alive": frames}))
            try:
                record, blob = read_item(item, self._recoding, sink)
            except OutputError as error:  # no fault of the source
                sink.__exit__()
                self.say({"unit": unit, "failed": str(error)})
                return
            except (LoaderError, OSError) as error:
                sink.__exit__()
                held.append(None)
                said.append({"failed": _line(error, item)})
                continue
            held.append(blob)
            said.append({"record": record.as_json()})
        self._held[unit] = held
        self.say({"unit": unit, "read": said})

    def write(self, unit: int, places: list[tuple[str, int] | None]) -> None:
        """Write the videos of a unit to their places, and say so."""
        try:
            for blob, place in zip(self._held.pop(unit), places, strict=True):
                if blob is not None and place is not None:
                    _write(blob, *place)
                if blob is not None:
                    blob.close()
        except OutputError as error:
            self.say({"unit": unit, "failed": str(error)})
            return
        self.say({"unit": unit, "written": True})


def _write(blob: FrameBlob, path: str, offset: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            blob.write(descriptor, offset)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise output_error(path, error) from error


def _line(error: Exception, item: Item) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, LoaderError) else f"reading {item.path!r}: {text}; correct it, or leave it out"


def serve(requests: Iterable[bytes], replies: BinaryIO, options: PackWorkerOptions) -> None:
    """Answer requests until there are no more."""
    desk = _Desk(options, replies)
    for line in requests:
        request = json.loads(line)
        if "read" in request:
            know({url: ObjectVersion(*version) for url, version in request["versions"].items()})
            desk.read(request["unit"], request["read"], request["bad"])
        else:
            desk.write(request["unit"], request["write"])


def main() -> None:
    """Run the process."""
    options = told(PackWorkerOptions)
    serve(os.fdopen(sys.stdin.fileno(), "rb", closefd=False), answers(), options)


if __name__ == "__main__":
    main()
