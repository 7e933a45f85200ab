"""A worker process of `unpack`: reads the samples of a piece, and writes them or compares them with what is written."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loader_service.catalog.cache.column_files import open_catalog
from loader_service.catalog.columns import Catalog
from loader_service.conversion.piece_server import PieceProgress, serve_pieces
from loader_service.conversion.pieces import LeftOut, OutputEntry, PieceOutcome
from loader_service.conversion.summed_file import SummedFile
from loader_service.errors import CatalogChanged, CatalogError, DecodeError, FileTouched
from loader_service.failpoints import passing
from loader_service.formats.damage import DamagedInput
from loader_service.lifeline import told
from loader_service.unpack.source_samples import SampleRange, SampleReader, SourceSample
from loader_service.unpack.target import FileTarget, ShardTarget
from loader_service.unpack.targets import make_target
from loader_service.unpack.unpack_options import UnpackOptions


@dataclass(frozen=True)
class UnpackTold:
    """What a worker is told at its start: the folder of the columns, the options, and what a sample is.

    `checks` says whether it compares what lies in the place, rather than write.
    """

    catalog: str
    options: dict[str, Any]
    by_frame: bool
    checks: bool = False


@dataclass
class _PieceSamples:
    """The samples of a piece, in order, without those that cannot be read where that is allowed."""

    ranges: list[SampleRange]
    progress: PieceProgress
    left_out: list[LeftOut] = field(default_factory=list)


class UnpackWorker:
    """Does pieces; used by one thread.

    Parameters
    ----------
    catalog
        Stays the caller's.
    given
        What is to be done.
    """

    def __init__(self, catalog: Catalog, given: UnpackTold) -> None:
        options = UnpackOptions.of_json(given.options)
        self._skips = options.on_error == "skip"
        self._place = Path(options.output)
        self._given = given
        self._reader = SampleReader(catalog)
        self._target = make_target(catalog, options, by_frame=given.by_frame)

    def close(self) -> None:
        """Close all files."""
        self._reader.close()

    def do(self, task: Any, folder: Path, progress: PieceProgress) -> PieceOutcome:
        """Write a piece, or compare it; what differs is in `left_out` then.

        Parameters
        ----------
        task
            ``{"name": of a shard, or "", "samples": [[key, video, start, stop], …]}``.
        folder
            Where to write.
        progress
            Told of each sample, and of its bytes; its parts are the samples.

        Raises
        ------
        CatalogChanged
            When a file has changed since it was scanned.
        CatalogError, DecodeError
            When a sample cannot be read, and is not to be left out.
        OSError
            When something cannot be written.
        """
        samples = _PieceSamples([SampleRange(*each) for each in task["samples"]], progress)
        if self._given.checks:
            return PieceOutcome((), tuple(self._differences(task["name"], samples)))
        if isinstance(self._target, ShardTarget):
            entries, facts = [self._write_shard(self._target, folder / task["name"], samples)], None
        else:
            entries, facts = self._write_files(self._target, folder, samples)
        return PieceOutcome(tuple(entries), tuple(samples.left_out), facts)

    def _write_shard(self, target: ShardTarget[Any], path: Path, samples: _PieceSamples) -> OutputEntry:
        count = 0
        with SummedFile(path) as file, target.writer(file.as_file) as writer:
            for _, item in self._encoded(target, samples):
                writer.write(item)
                count += 1
                passing("unpack")
        return OutputEntry(path.name, file.size_bytes, file.crc32c, count)

    def _write_files(
        self, target: FileTarget, folder: Path, samples: _PieceSamples
    ) -> tuple[list[OutputEntry], list[Any]]:
        entries: list[OutputEntry] = []
        rows: list[Any] = []
        for sample in self._read(samples):
            written = None
            with self._skipping(sample.range, samples):
                written = target.write(sample, folder, lambda: samples.progress.read(0))
                rows.append(dict(target.row(sample)))
            if written is None:
                for name in target.names(sample.range):
                    _remove(folder / name)
            entries += written or []
            passing("unpack")
        return entries, rows

    def _differences(self, name: str, samples: _PieceSamples) -> Iterator[LeftOut]:
        if isinstance(self._target, FileTarget):
            for sample in self._read(samples):
                with self._skipping(sample.range, samples):
                    found = self._target.difference(sample, self._place, lambda: samples.progress.read(0))
                    if found is not None:
                        yield LeftOut(sample.range.key, found)
            return
        path = self._place / name
        if not path.is_file():
            yield LeftOut(name, f"{str(path)!r} is not there")
            return
        items = self._target.read(path)
        try:
            for key, expected in self._encoded(self._target, samples):
                if next(items, None) != expected:
                    yield LeftOut(key, f"{str(path)!r} holds something else")
                    return
            if next(items, None) is not None:
                yield LeftOut(name, f"{str(path)!r} holds more samples than were read")
        except DamagedInput as error:
            yield LeftOut(name, str(error))

    def _encoded(self, target: ShardTarget[Any], samples: _PieceSamples) -> Iterator[tuple[str, Any]]:
        for sample in self._read(samples):
            item = None
            with self._skipping(sample.range, samples):
                item = target.encode(sample)
            if item is not None:
                yield sample.range.key, item

    def _read(self, samples: _PieceSamples) -> Iterator[SourceSample]:
        progress = samples.progress
        for part, each in enumerate(samples.ranges):
            sample = None
            progress.begins(part)
            with self._skipping(each, samples):
                if part in progress.crashed:
                    raise DecodeError(f"{progress.crashed[part]}; leave it out")
                passing("unpack_sample", each.key)
                sample = self._reader.read(each, is_frame=self._given.by_frame)
            if sample is not None:
                progress.read(sample.size_bytes)
                yield sample

    @contextlib.contextmanager
    def _skipping(self, which: SampleRange, samples: _PieceSamples) -> Iterator[None]:
        try:
            yield
        except FileTouched as error:
            raise CatalogChanged(f"{error}; it changed while it was read: run the same command again") from error
        except (DecodeError, CatalogError) as error:
            self._leave_out(which, error, samples)

    def _leave_out(self, which: SampleRange, error: DecodeError | CatalogError, samples: _PieceSamples) -> None:
        if not self._skips or isinstance(error, (CatalogChanged, DamagedInput)):
            raise error
        samples.left_out.append(LeftOut(which.key, str(error)))


def _remove(path: Path) -> None:
    """Remove what a sample that is left out has written into the folder of its piece."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main() -> None:
    """Run the process."""
    given = told(UnpackTold)
    catalog = open_catalog(given.catalog)
    serve_pieces(UnpackWorker(catalog, given).do)


if __name__ == "__main__":
    main()
