"""A whole `unpack`: pieces, worker processes, and the manifest at the end; reads no frame and writes no sample."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from loader_service.catalog.columns import Catalog
from loader_service.conversion.piece_server import PieceProgress
from loader_service.conversion.pieces import LeftOut, OnProgress, Piece, PieceOutcome
from loader_service.conversion.unpack_manifest import MANIFEST_NAME, TABLE_NAME, WRITTEN_BY
from loader_service.conversion.work_folder import WorkFolder, size_of
from loader_service.conversion.workforce import Workforce
from loader_service.conversion.write_remedies import OutputError
from loader_service.errors import ConfigError
from loader_service.sizes import size_text
from loader_service.unpack.sample_plan import cut, plan_samples
from loader_service.unpack.source_samples import SampleRange
from loader_service.unpack.target import FileTarget, ShardTarget
from loader_service.unpack.targets import TARGETS, make_target
from loader_service.unpack.unpack_options import UnpackOptions
from loader_service.unpack.unpack_worker import UnpackTold, UnpackWorker

#: Of the files of single samples, how many bytes, and how many of them, one worker writes in one go.
_PIECE_BYTES, _PIECE_SAMPLES = 2**24, 512

#: How much is written to find out how long all will take, in bytes.
_TRIAL_BYTES = 2**24

_MODULE = "loader_service.unpack.unpack_worker"


@dataclass(frozen=True)
class UnpackEstimate:
    """What an `unpack` would do, by a trial with a few samples."""

    samples: int
    files: int
    read_bytes: int
    written_bytes: int
    seconds: float
    first_names: tuple[str, ...]


@dataclass(frozen=True)
class UnpackReport:
    """What an `unpack` did: files and folders, samples and bytes written; and what it left out."""

    entries: int
    samples: int
    size_bytes: int
    left_out: tuple[LeftOut, ...]
    was_complete: bool = False


class Unpacking:
    """One `unpack`; used by one thread.

    Parameters
    ----------
    catalog
        What the files hold; stays the caller's.
    options
        What is asked for.
    workers
        Processes that read and write.

    Raises
    ------
    ConfigError
        When the catalog cannot be written so, or comes from no files.
    """

    def __init__(self, catalog: Catalog, options: UnpackOptions, workers: int) -> None:
        if catalog.kind not in {"videos", "rows"}:
            raise ConfigError("unpack reads HDF5 files; a Python source has none: name files")
        self._catalog, self._options, self._workers = catalog, options, workers
        self._place = Path(options.output)
        kind = TARGETS[options.to]
        self._plan = plan_samples(catalog, options, dots=kind.dots, by_class=kind.by_class)
        self._target = make_target(catalog, options, by_frame=self._plan.by_frame)
        self._pieces = self._cut()

    def estimate(self) -> UnpackEstimate:
        """Return what `run` would do; writes a few samples to a temporary folder to find out how long it takes."""
        few = max(1, int(np.searchsorted(np.cumsum(self._plan.sizes), _TRIAL_BYTES)))
        names = [name for each in self._pieces for name in each.targets]
        with tempfile.TemporaryDirectory(prefix="loader-service-") as folder:
            worker = UnpackWorker(self._catalog, self._told())
            began = time.monotonic()
            try:
                worker.do(self._task("trial", 0, few), Path(folder), PieceProgress())
            finally:
                worker.close()
            seconds = time.monotonic() - began
            written = size_of(Path(folder))
        share = self._plan.size_bytes / max(1, int(self._plan.sizes[:few].sum()))
        total_s = seconds * share / min(self._workers, len(self._pieces))
        return UnpackEstimate(
            len(self._plan), len(names), self._plan.size_bytes, int(written * share), total_s, tuple(names[:3])
        )

    def run(self, on_progress: OnProgress) -> UnpackReport:
        """Write everything that is not written yet, and return what there is.

        Raises
        ------
        ConfigError
            When something is in the way, or another run is at work there.
        OutputError
            When something cannot be written.
        CatalogError, DecodeError, CatalogChanged
            When something cannot be read.
        WorkerDied
            When a worker process ends.
        """
        plan = self._plan_key()
        complete = self._complete(plan)
        if complete is not None:
            return complete
        with WorkFolder(self._place, plan, force=self._options.force) as work:
            self._check_free(work)
            work.check_targets([*self._pieces, Piece(-1, self._last_names, None, 0)])
            waiting = [each for each in self._pieces if each.number not in work.outcomes]
            before = sum(each.size_bytes for each in self._pieces) - sum(each.size_bytes for each in waiting)
            total = self._plan.size_bytes
            self._force(checks=False).run(
                waiting,
                work.folder_of,
                lambda piece, outcome: work.finish_piece(piece.number, outcome),
                lambda done: on_progress(min(total, before + done), total),
            )
            outcomes = [work.outcomes[each.number] for each in self._pieces]
            if isinstance(self._target, FileTarget):
                work.write_beside(TABLE_NAME, _table(outcomes))
            work.finish(MANIFEST_NAME, self._manifest(plan, outcomes))
        return self._report(outcomes)

    def check(self, on_progress: OnProgress) -> list[LeftOut]:
        """Return what in the place is not as it was read; raises as `run` does."""
        found: list[LeftOut] = []
        total = self._plan.size_bytes
        self._force(checks=True).run(
            self._pieces,
            lambda _: None,
            lambda _, outcome: found.extend(outcome.left_out),
            lambda done: on_progress(min(total, done), total),
        )
        return found

    @property
    def _last_names(self) -> tuple[str, ...]:
        """What is written when all pieces are done."""
        return (MANIFEST_NAME, TABLE_NAME) if isinstance(self._target, FileTarget) else (MANIFEST_NAME,)

    def _told(self, *, checks: bool = False) -> UnpackTold:
        return UnpackTold(str(self._catalog.directory), asdict(self._options), self._plan.by_frame, checks)

    def _force(self, *, checks: bool) -> Workforce:
        skips = self._options.on_error == "skip"
        return Workforce(_MODULE, self._told(checks=checks), self._workers, survives=skips)

    def _task(self, name: str, first: int, stop: int) -> dict[str, Any]:
        return {"name": name, "samples": self._plan.samples(first, stop)}

    def _cut(self) -> list[Piece]:
        """Return the pieces: the same for the same catalog and options, whatever the number of workers."""
        sizes, target = self._plan.sizes, self._target
        if isinstance(target, ShardTarget):
            bounds = cut(sizes, self._options.shard_bytes, self._options.shards)
        else:
            bounds = cut(np.maximum(sizes, _PIECE_BYTES // _PIECE_SAMPLES), _PIECE_BYTES)
        pieces = []
        for number, (first, stop) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            name = ""
            if isinstance(target, ShardTarget):
                name = f"data-{number:05}-of-{len(bounds) - 1:05}{target.suffix}"
                names: tuple[str, ...] = (name,)
            else:
                names = tuple(each for which in self._plan.samples(first, stop) for each in target.names(which))
            pieces.append(Piece(number, names, self._task(name, first, stop), int(sizes[first:stop].sum())))
        return pieces

    def _plan_key(self) -> str:
        """Return what stands for the work: what is read, and how it is written."""
        paths = [self._catalog.file_path(file) for file in range(self._catalog.file_count)]
        known = json.dumps([self._catalog.fingerprint, self._options.key(), paths, self._plan.keys])
        return hashlib.sha256(known.encode("utf-8", "surrogatepass")).hexdigest()

    def _check_free(self, work: WorkFolder) -> None:
        """Make sure, before anything is written, that there is room: where as much is written as is read."""
        raw = any(each.kind == "image" and not self._catalog.is_encoded(each.name) for each in self._catalog.fields)
        if raw or self._options.to == "mp4":
            return
        needed = sum(each.size_bytes for each in self._pieces if each.number not in work.outcomes)
        status = os.statvfs(self._place)
        free = status.f_bavail * status.f_frsize
        if needed > free:
            raise OutputError(
                f"{str(self._place)!r} has {size_text(free)} left, and {size_text(needed)} are to be written: free "
                "some space, or give another place"
            )

    def _complete(self, plan: str) -> UnpackReport | None:
        """Return what an earlier run of the same work has written, when that is all there still."""
        try:
            manifest = json.loads((self._place / MANIFEST_NAME).read_bytes())
            outcome = PieceOutcome.of_json({**manifest, "facts": None})
            is_same = manifest["plan"] == plan
            there = all(
                (self._place / each.path).exists() and size_of(self._place / each.path) == each.size_bytes
                for each in outcome.entries
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not is_same or not there or self._options.force:
            return None
        return replace(self._report([outcome]), was_complete=True)

    def _report(self, outcomes: list[PieceOutcome]) -> UnpackReport:
        entries = [entry for each in outcomes for entry in each.entries]
        left_out = tuple(left for each in outcomes for left in each.left_out)
        return UnpackReport(
            len(entries), len(self._plan) - len(left_out), sum(each.size_bytes for each in entries), left_out
        )

    def _manifest(self, plan: str, outcomes: list[PieceOutcome]) -> bytes:
        catalog = self._catalog
        fields = [
            {
                **asdict(each),
                "sides": each.sides_name,
                "written_as": self._target.describe(each.name),
                "encoded": catalog.is_encoded(each.name),
            }
            for each in catalog.fields
        ]
        sources = [
            {"path": catalog.file_path(file), **asdict(catalog.file_stat(file))} for file in range(catalog.file_count)
        ]
        manifest = {
            "format": 1,
            "written_by": WRITTEN_BY,
            "plan": plan,
            "options": json.loads(self._options.key()),
            "sample": "frame" if self._plan.by_frame else "video",
            "fingerprint": catalog.fingerprint,
            "fields": fields,
            "called": self._target.field_names,
            **self._named(outcomes),
            "sources": sources,
            "entries": [asdict(entry) for each in outcomes for entry in each.entries],
            "left_out": [asdict(left) for each in outcomes for left in each.left_out],
        }
        return json.dumps(manifest, indent=1).encode("ascii")

    def _named(self, outcomes: list[PieceOutcome]) -> dict[str, list[list[str]]]:
        """Return the keys of the samples of each piece, and their names: as in the files where no two are alike."""
        videos = [self._catalog.name(video).decode("utf-8", "surrogateescape") for video in range(len(self._plan.keys))]
        alone = Counter(videos)
        keys, names = [], []
        for piece, outcome in zip(self._pieces, outcomes, strict=True):
            left_out = {each.name for each in outcome.left_out}
            samples = [
                each for each in (SampleRange(*told) for told in piece.task["samples"]) if each.key not in left_out
            ]
            keys.append([each.key for each in samples])
            names.append(
                [
                    videos[each.video]
                    if each.key == self._plan.keys[each.video] and alone[videos[each.video]] == 1
                    else each.key
                    for each in samples
                ]
            )
        return {"keys": keys, "names": names}


def written_options(place: str) -> dict[str, Any]:
    """Return the options of the run that has written a place, as its manifest has them; empty when there is none."""
    try:
        manifest = json.loads((Path(place) / MANIFEST_NAME).read_bytes())
        found = manifest["options"] if manifest["written_by"] == WRITTEN_BY else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _table(outcomes: list[PieceOutcome]) -> bytes:
    """Return a CSV file with a row for each sample and a column for each single number or text."""
    rows = [row for each in outcomes for row in each.facts or ()]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")
