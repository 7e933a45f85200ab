"""What goes wrong with a store, in one line that names the object and the remedy. Knows no request."""

from __future__ import annotations

import errno
from typing import Any

from loader_service.errors import ConfigError

#: What is kept of a store's own words.
_MOST_WORDS = 160

#: The address at which a cloud's machines get credentials: asked when there are none in the environment.
_METADATA_SERVICE = ("169.254.169.254", "metadata.google.internal", "169.254.170.2")

_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with AWS_SESSION_TOKEN where they are temporary), or "
    "AWS_SKIP_SIGNATURE=true for a public bucket",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket",
    "az": "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
}


class StoreFault(OSError):
    """A request of a store failed; asked again in a moment it may succeed. `strerror` is one line."""

    def __init__(self, words: str) -> None:
        super().__init__(errno.EIO, words)


class ObjectChanged(StoreFault):
    """The object is not the one any more that was opened."""


def missing_extra(url: str) -> ConfigError:
    """Return what is said where the library is not installed that reads objects."""
    return ConfigError(f"{url!r} lies in a store, which needs an extra; pip install 'loader-service[stores]'")


def fault_of(url: Any, error: Exception) -> StoreFault:
    """Return the fault that an error of `obstore` stands for.

    Parameters
    ----------
    url
        The object, a `StoreUrl`.
    error
        What was raised.
    """
    kind, words = type(error).__name__, _one_line(error)
    if kind == "PreconditionError":
        return ObjectChanged(f"{str(url)!r} is another object than the one that was opened")
    if any(address in words for address in _METADATA_SERVICE):
        return StoreFault(f"{str(url)!r}: no credentials; set {_CREDENTIALS.get(url.scheme, 'them')}")
    if kind in ("NotFoundError", "FileNotFoundError"):
        what = f"no bucket {url.bucket!r}" if "NoSuchBucket" in words else "there is no such object"
        return StoreFault(f"{str(url)!r}: {what}; check the name")
    if kind in ("PermissionDeniedError", "UnauthenticatedError"):
        how = f"; set {_CREDENTIALS[url.scheme]}" if url.scheme in _CREDENTIALS else ""
        return StoreFault(
            f"{str(url)!r}: access was refused: the credentials have no permission to read it, or have expired{how}"
        )
    if kind == "NotSupportedError":
        return StoreFault(f"{str(url)!r}: the server gives no parts of a file ({words}); copy the file here")
    return StoreFault(f"{str(url)!r}: {words}")


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).partition("\n\nDebug")[0].split())
    return words if len(words) <= _MOST_WORDS else words[:_MOST_WORDS].rstrip() + " …"
