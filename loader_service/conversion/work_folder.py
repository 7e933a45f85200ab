"""The place of a conversion: files are written under names of ours, and get their own when they are whole.

In the place there is a work folder, which this user alone can enter, with a folder for each piece that is at work, and
the log. Its lock keeps a second conversion out. Nothing else in the place is ever removed, and nothing that was there
is overwritten unless that was asked for.

A piece goes through three states, and a kill between any two of them loses nothing but its work:

1. at work: its files are in its folder. A run that resumes removes that folder and begins again.
2. noted: its files are whole, and the log says so. A run that resumes gives them their names.
3. done: they have their names.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from loader_service.conversion.claimed_folder import claimed_folder, write_whole
from loader_service.conversion.piece_log import LOG_NAME, PieceLog
from loader_service.conversion.pieces import OutputEntry, Piece, PieceOutcome
from loader_service.conversion.write_remedies import output_error
from loader_service.errors import ConfigError
from loader_service.failpoints import passing

#: The name of the work folder in the place.
WORK_NAME = ".loader-service-unfinished"

_PIECE = re.compile(r"piece-[0-9]{6,}\Z")


class WorkFolder:
    """The work folder of a place; a context manager. Used by one thread of one process at a time.

    Parameters
    ----------
    place
        A folder; made when it is not there.
    plan
        What is converted and how, in words that are the same for the same work.
    force
        Begin anew what others have begun, and overwrite files that are there.

    Attributes
    ----------
    outcomes
        Of the pieces that are done, by number.

    Raises
    ------
    ConfigError
        When another conversion is at work there, or has begun and not ended.
    OutputError
        When it cannot be made.
    """

    def __init__(self, place: Path, plan: str, *, force: bool = False) -> None:
        self.place = place
        self._force = force
        with ExitStack() as stack:
            try:
                self._is_made = not place.exists()
                place.mkdir(parents=True, exist_ok=True)
                self._parent, self._folder = stack.enter_context(claimed_folder(place, WORK_NAME))
            except OSError as error:
                raise output_error(place, error) from error
            self.path = self._folder.path
            self._log = stack.enter_context(PieceLog(self._folder))
            self._begin(plan)
            self._stack = stack.pop_all()

    def __enter__(self) -> WorkFolder:
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._tidy()

    @property
    def outcomes(self) -> dict[int, PieceOutcome]:
        """Of the pieces that are done, by number."""
        return self._log.outcomes

    def check_targets(self, pieces: Sequence[Piece]) -> None:
        """Make sure, before anything is written, that nothing is in the way of the pieces that are not done.

        Raises
        ------
        ConfigError
            When a file or folder of theirs is there already, and `force` was not given.
        """
        todo = (name for each in pieces if each.number not in self.outcomes for name in each.targets)
        there = [name for name in todo if os.path.lexists(self.place / name)]
        if there and not self._force:
            more = f" and {len(there) - 1} more are" if len(there) > 1 else " is"
            raise ConfigError(
                f"{str(self.place / there[0])!r}{more} there already; give another place, or --force to overwrite"
            )

    def folder_of(self, number: int) -> Path:
        """Return the folder in which a piece is written, made anew."""
        path = self.path / f"piece-{number:06}"
        try:
            if path.exists():
                shutil.rmtree(path)
            path.mkdir()
        except OSError as error:
            raise output_error(path, error) from error
        return path

    def finish_piece(self, number: int, outcome: PieceOutcome) -> None:
        """Note that the files of a piece are whole, and give them their names; raises OutputError, ConfigError."""
        try:
            self._log.note(number, outcome)
            passing("piece_noted", number)
            self._give_names(number, outcome)
            passing("piece_named", number)
        except OSError as error:
            raise output_error(self.place, error) from error

    def finish(self, name: str, content: bytes) -> None:
        """Write a last file, such as the manifest, which takes the place of an older one, and remove the work folder.

        Raises
        ------
        OutputError
            When that does not work.
        """
        try:
            self.write_beside(name, content)
            self._log.begin("")
        except OSError as error:
            raise output_error(self.place / name, error) from error

    def write_beside(self, name: str, content: bytes) -> None:
        """Write a small file into the place, whole or not at all; it takes the place of an older one."""
        try:
            write_whole(self.place / name, self.path / "file", [content])
        except OSError as error:
            raise output_error(self.place / name, error) from error

    def _begin(self, plan: str) -> None:
        """Take up what is there, or begin."""
        log = self._log
        if log.plan is not None and log.plan != plan and not self._force:
            raise ConfigError(
                f"{str(self.place)!r} holds an unfinished conversion of other files, or with other options: run that "
                "again to end it, give --force to begin anew, or another place"
            )
        try:
            if log.plan != plan:
                log.begin(plan)
            for number in [each for each in log.outcomes if not self._is_whole(each)]:
                del log.outcomes[number]
            self._remove_pieces()
        except OSError as error:
            raise output_error(self.place, error) from error

    def _tidy(self) -> None:
        """Remove what is unfinished, and the work folder too when nothing in it is worth to go on from."""
        with contextlib.suppress(OSError):  # such as on a disk that went away: a later run does it
            self._remove_pieces()
            if not self.outcomes:
                self._folder.unlink(LOG_NAME)
                self._parent.remove_folder(WORK_NAME, self._folder)
                if self._is_made:
                    self.place.rmdir()  # unless something is in it

    def _remove_pieces(self) -> None:
        """Remove the files of pieces that are not noted."""
        noted = {f"piece-{number:06}" for number in self.outcomes}
        for entry in self._folder.names():
            if _PIECE.match(entry) and entry not in noted:
                shutil.rmtree(self.path / entry)

    def _is_whole(self, number: int) -> bool:
        """Give the files of a noted piece their names, if they have not; False when some are gone or another's."""
        outcome = self._log.outcomes[number]
        source = self.path / f"piece-{number:06}"
        for entry in outcome.entries:
            if not (source / entry.path).exists() and not _is_there(self.place / entry.path, entry):
                return False
        self._give_names(number, outcome)
        return True

    def _give_names(self, number: int, outcome: PieceOutcome) -> None:
        source = self.path / f"piece-{number:06}"
        pairs = [(source / each.path, self.place / each.path) for each in outcome.entries]
        waiting = [pair for pair in pairs if os.path.lexists(pair[0])]
        for parent in {final.parent for _, final in waiting}:
            self._make(parent)
        for written, final in waiting:
            self._rename(written, final)
        if source.exists():
            shutil.rmtree(source)

    def _make(self, folder: Path) -> None:
        """Make a folder in the place; not through a link, which would lead elsewhere."""
        if folder == self.place:
            return
        self._make(folder.parent)
        if folder.is_symlink():
            raise ConfigError(
                f"{str(folder)!r} is a link, and links are not followed: remove it, or give another place"
            )
        folder.mkdir(exist_ok=True)

    def _rename(self, written: Path, final: Path) -> None:
        if not os.path.lexists(final):
            written.rename(final)
        elif not self._force:
            raise ConfigError(f"{str(final)!r} has come to be there meanwhile; remove it, or give --force")
        elif final.is_dir() and not final.is_symlink():
            _replace_files(written, final)
        else:
            written.replace(final)


def size_of(path: Path, visit: Callable[[Path], object] | None = None) -> int:
    """Return the bytes of a file, or of all files in a folder; `visit` is called with each."""
    if not path.is_dir() or path.is_symlink():
        if visit is not None:
            visit(path)
        return path.lstat().st_size
    return sum(size_of(each, visit) for each in sorted(path.iterdir()))


def _is_there(path: Path, entry: OutputEntry) -> bool:
    return os.path.lexists(path) and not path.is_symlink() and size_of(path) == entry.size_bytes


def _replace_files(written: Path, final: Path) -> None:
    """Put the files of a folder in the place of those of another; refuses when that one has more than they replace."""
    more = {each.name for each in final.iterdir()} - {each.name for each in written.iterdir()}
    if more:
        raise ConfigError(f"{str(final)!r} holds {min(more)!r}, which is not overwritten: remove the folder first")
    for each in sorted(written.iterdir()):
        if each.is_dir() and (final / each.name).is_dir():
            _replace_files(each, final / each.name)
        else:
            each.replace(final / each.name)
