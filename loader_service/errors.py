"""The errors a user can meet, one class for each kind of remedy; knows nothing of the rest of the package."""

from __future__ import annotations


class LoaderError(Exception):
    """Anything this project raises on purpose; the message says what, where and what to change."""


class ConfigError(LoaderError):
    """The request cannot be met as written: a wrong option, field, shape or path. Nothing has started."""


class CatalogError(LoaderError):
    """A file does not hold what was asked of it: unreadable, wrong layout, rank, dtype or labels."""


class CatalogChanged(CatalogError):
    """The files are no longer those that the catalog was made from."""


class FileTouched(CatalogChanged):
    """A file's size, time or inode is another, and nobody knows yet whether its content is; no client ever gets it."""


class FileInUse(CatalogError):
    """Another program has a file open for writing."""


class DecodeError(LoaderError):
    """One frame's bytes are not the JPEG image they should be."""


class SourceError(LoaderError):
    """A user's own Python code, a source or a transform, raised or returned what cannot be a sample."""


class PackError(LoaderError):
    """A source cannot be packed as it is, damaged or changed meanwhile, or there is no room to write it."""


class ProtocolError(LoaderError):
    """A peer sent something that is no message of this protocol, or of another version of it."""


class WorkerDied(LoaderError):
    """Worker processes died and could not be replaced, or one sample killed worker after worker."""


class ServiceUnavailable(LoaderError):
    """No service answers at the endpoint, or it went away and did not return in time."""


#: Error classes by the name that travels in a message; a name not listed here arrives as `LoaderError`.
BY_NAME: dict[str, type[LoaderError]] = {
    kind.__name__: kind
    for kind in (
        LoaderError,
        ConfigError,
        CatalogError,
        CatalogChanged,
        FileTouched,
        DecodeError,
        SourceError,
        ProtocolError,
        WorkerDied,
        ServiceUnavailable,
    )
}


def from_name(name: str, message: str) -> LoaderError:
    """Return the error that a peer described by class name and message."""
    return BY_NAME.get(name, LoaderError)(message)
