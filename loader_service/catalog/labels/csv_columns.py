"""Makes columns of what a CSV file says of videos: its cells as numbers, its rows in the order of the videos."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.labels.encode import MIXTURE_REMEDY, LabelOrigin, class_bytes, encode
from loader_service.catalog.labels.row_index import CSVIndex, common_root
from loader_service.catalog.labels.rows_of_frames import refuse_rows_of_frames
from loader_service.errors import CatalogError, ConfigError
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.labels.csv_file import CsvColumn, LabelTable
    from loader_service.catalog.labels.encode import ClassList, Encoded
    from loader_service.catalog.labels.row_index import NamedVideo


#: Classes of a column that nobody has named: with more of them, it is rather names, or remarks, than classes.
_MOST_UNNAMED = 1000
_MOST_UNNAMED_BYTES = 2**16


class TableColumns:
    """The columns of a CSV file as numbers, over all its rows: so each service that reads it has the same classes.

    Parameters
    ----------
    table
        What the file says.
    lists
        Lists of classes by field.
    taken
        Names that other fields have already.

    Attributes
    ----------
    left_out
        A line for each column that is no field.

    Raises
    ------
    ConfigError
        When a column that the user has named cannot be a field.
    """

    def __init__(self, table: LabelTable, lists: Mapping[str, ClassList], taken: Collection[str]) -> None:
        self.left_out = [f"{name!r}: {reason}, in {table.path!r}" for name, reason in table.left_out]
        self._table = table
        self._wanted = {column.field for column in table.columns if column.wanted or column.field in lists}
        self._cells = {column.field: column.cells for column in table.columns}
        self._columns: dict[str, Encoded] = {}
        for column in table.columns:
            try:
                self._columns[column.field] = self._encode(column, lists.get(column.field), taken)
                self._check_size(column)
            except ConfigError as error:
                self._leave_out(column.field, str(error))
        self._refuse_conflicts(_same_keys(table))

    def of_videos(self, videos: Sequence[NamedVideo]) -> dict[str, Encoded]:
        """Return the columns with an entry for each video.

        Raises
        ------
        CatalogError
            When no row names a video, or rows name frames of one.
        ConfigError
            When a row names several videos; when rows that name one say different things; when a class is not listed.
        """
        matched = self._match(videos)
        self._refuse_conflicts(matched)
        rows = [each[0] for each in matched]
        for column in self._columns.values():
            for row, video in zip(rows, videos, strict=True) if column.unlisted else ():
                if row in column.unlisted:
                    raise ConfigError(
                        f"{self._table.where(row)}: video {video}: {column.unlisted[row]}; add it there, or correct "
                        "the row"
                    )
        return {name: replace(column, values=column.values[rows]) for name, column in self._columns.items()}

    def _leave_out(self, field: str, reason: str) -> None:
        """Leave a column out, or refuse it when the user has named it."""
        if field in self._wanted:
            raise ConfigError(reason)
        self._columns.pop(field, None)
        self.left_out.append(f"{field!r}: {reason}")

    def _check_size(self, column: CsvColumn) -> None:
        classes = self._columns[column.field].classes
        if column.field in self._wanted:
            return
        if len(classes) > _MOST_UNNAMED or class_bytes(classes) > _MOST_UNNAMED_BYTES:
            raise ConfigError(
                f"--labels {self._table.path!r}: the column {column.name!r} has {len(classes)} different texts; where "
                f"they are classes, say so: --labels FILE:video=COLUMN,label=COLUMN,{column.name}={column.name}"
            )

    def _encode(self, column: CsvColumn, listed: ClassList | None, taken: Collection[str]) -> Encoded:
        table = self._table
        if column.field != "label" and column.field in taken:
            raise ConfigError(
                f"--labels {table.path!r}: there is another field {column.field!r} already; give the column "
                f"{column.name!r} another name, as --labels FILE:video=COLUMN,NAME={column.name}"
            )

        def where(row: int) -> str:
            return f"{table.where(row)}, column {column.name!r}" if table.headed else table.where(row)

        for row, cell in enumerate(column.cells):
            if not cell.isascii() and any("\udc80" <= letter <= "\udcff" for letter in cell):
                raise ConfigError(f"{where(row)}: {cell!r:.80} is no UTF-8; save the file as UTF-8")
        remedy = MIXTURE_REMEDY
        if not table.headed:
            remedy += "; if the first row is a header, say which columns count: --labels FILE:video=COLUMN,label=COLUMN"
        return encode(column.cells, LabelOrigin(ConfigError, where, remedy), listed)

    def _refuse_conflicts(self, same: Sequence[Sequence[int]]) -> None:
        """Refuse columns in which rows that name one video say different things."""
        for name, column in list(self._columns.items()):
            for rows in same:
                other = next((row for row in rows[1:] if column.values[row] != column.values[rows[0]]), None)
                if other is not None:
                    self._leave_out(name, self._conflict(name, rows[0], other))
                    break

    def _conflict(self, name: str, first: int, second: int) -> str:
        cells, table = self._cells[name], self._table
        called = "" if table.keys[first] == table.keys[second] else f" for {table.keys[first]!r}"
        return (
            f"{table.where(second)}: {table.keys[second]!r} has the {name} {cells[second]!r}, but {cells[first]!r} "
            f"further up{called}, in row {table.rows[first]}; leave one out"
        )

    def _match(self, videos: Sequence[NamedVideo]) -> list[list[int]]:
        """Return the rows that name each video, of which there is one at least."""
        index = CSVIndex(self._table.keys)
        matched = [index.rows_of(video) for video in videos]
        owners: dict[int, int] = {}
        contested: dict[int, list[int]] = {}
        for number, rows in enumerate(matched):
            for row in rows:
                if owners.setdefault(row, number) != number:
                    contested.setdefault(row, [owners[row]]).append(number)
        root = common_root([video.path for video in videos]) if contested else ""
        for row, numbers in contested.items():
            owners[row] = self._settle(row, numbers, videos, root)
            for number in numbers:
                if number != owners[row]:
                    matched[number] = [each for each in matched[number] if each != row]
        if not self._table.headed:
            self._suspect_header(owners)
        refuse_rows_of_frames(self._table, index, videos, owners)
        missing = [video for video, rows in zip(videos, matched, strict=True) if not rows]
        if missing:
            raise self._missing(missing, videos, index.nearest(missing[0], owners))
        return matched

    def _settle(self, row: int, numbers: Sequence[int], videos: Sequence[NamedVideo], root: str) -> int:
        """Return which of several videos a row means: the one that it names by its whole path below the root."""
        key = self._table.keys[row]
        meant = [number for number in numbers if videos[number].is_called_in_full(key, root)]
        if len(meant) == 1:
            return meant[0]
        first, second = (videos[number].keys(root)[0] for number in (meant or numbers)[:2])
        raise ConfigError(
            f"{self._table.where(row)}: {key!r} names several videos; tell them apart by file, as {second!r} and "
            f"{first!r}"
        )

    def _missing(
        self, missing: Sequence[NamedVideo], videos: Sequence[NamedVideo], nearest: int | None
    ) -> CatalogError:
        table, first = self._table, missing[0]
        like = "" if nearest is None else f"; row {table.rows[nearest]} has {table.keys[nearest]!r}"
        keys = first.keys(common_root([video.path for video in videos]))
        return CatalogError(
            f"--labels {table.path!r}: expected a label for each of {counted(len(videos), 'video')}, found "
            f"{len(videos) - len(missing)}; the first without one is {first}; add a row for it to --labels, which may "
            f"call it {' or '.join(map(repr, keys))}{like}; or leave --labels out, to serve the videos without it"
        )

    def _suspect_header(self, owners: Collection[int]) -> None:
        """Refuse a first row that may be a header: taken for a class, it would shift the numbers of all others."""
        table, label = self._table, self._columns["label"]
        alone = label.classes and np.count_nonzero(label.values == label.values[0]) == 1
        if alone and 0 not in owners and 0 not in label.unlisted and len(table.keys) > 1:
            video, text = table.keys[0], self._cells["label"][0]
            raise ConfigError(
                f"{table.where(0)}: {video!r} is no video here, and no other row has {text!r}: if it is a header, say "
                f"which columns count, as --labels FILE:video={video},label={text}; if not, put video,label above it"
            )


def _same_keys(table: LabelTable) -> list[tuple[int, int]]:
    """Return the rows whose key another row has too, each with the first that has it."""
    first: dict[str, int] = {}
    pairs = ((first.setdefault(key, row), row) for row, key in enumerate(table.keys))
    return [(before, row) for before, row in pairs if before != row]
