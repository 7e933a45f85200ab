"""Tells an error of this program's own code, amid a scan, from what a damaged file makes libraries raise."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

from loader_service.errors import CatalogError

#: What only wrong code raises, if it is raised in code of ours: libraries raise these for damaged files, too.
PROGRAMMING_ERRORS = (TypeError, AttributeError, NameError, AssertionError, LookupError, ZeroDivisionError)

#: What helps where a name has more digits than Python makes a number of.
DIGITS_REMEDY = (
    "a name in it has a number of more digits than Python reads (4300); rename it, as h5py's `file.move(old, new)` does"
)

#: What `zip` says, in a ValueError, of lists that are not of one length: no file is damaged by it.
_UNEQUAL = "zip() argument"

_LOG = logging.getLogger(__name__)

_OURS = str(Path(__file__).parents[2])


class InternalFault(CatalogError):
    """Code of this program failed at a file, which may be sound.

    Attributes
    ----------
    trace
        Where, as Python shows it; for the log.
    """

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


def internal_fault(path: str, error: BaseException) -> InternalFault | None:
    """Return what to say of an error amid a scan of a file that is this program's own; None for any other."""
    *_, (innermost, line) = traceback.walk_tb(error.__traceback__)
    place = innermost.f_code.co_filename
    ours = isinstance(error, PROGRAMMING_ERRORS) or str(error).startswith(_UNEQUAL)
    if not ours or not place.startswith(_OURS):
        return None
    return InternalFault(
        f"{path!r}: an internal error of loader-service, {type(error).__name__} in {place}:{line}: {error}; the file "
        "may be sound: give the authors this line, the traceback from the log and, if you may, the file; or leave the "
        "file out",
        "".join(traceback.format_exception(error)),
    )


def told(error: CatalogError) -> CatalogError:
    """Return an error as people are told it; the traceback of one of ours goes to the log."""
    if not isinstance(error, InternalFault):
        return error
    _LOG.error("%s", error.trace)
    return CatalogError(str(error))


def is_of_digits(error: Exception) -> bool:
    """Tell whether an error is that of a number of too many digits: a file is not damaged by it."""
    return isinstance(error, ValueError) and "integer string conversion" in str(error)
