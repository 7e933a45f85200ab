"""The errors of files of other programs: which file, which part of it, at which byte, and what to do."""

from __future__ import annotations

from loader_service.errors import CatalogError, ConfigError


class DamagedInput(CatalogError):
    """A file does not hold what its format promises.

    Parameters
    ----------
    name
        Of the file.
    part
        Which part of it, such as ``"record 12"``.
    offset
        Where that begins, in bytes; of a compressed file, in what it holds.
    reason
        What is wrong, and what to do.

    Attributes
    ----------
    name, part, offset, reason
        As given.
    """

    def __init__(self, name: str, part: str, offset: int, reason: str) -> None:
        super().__init__(f"reading {name!r}, {part} at byte {offset}: {reason}")
        self.name, self.part, self.offset, self.reason = name, part, offset, reason

    def __reduce__(self) -> tuple[type[DamagedInput], tuple[str, str, int, str]]:
        return DamagedInput, (self.name, self.part, self.offset, self.reason)


def missing_package(package: str, purpose: str) -> ConfigError:
    """Return the error that names the extra which brings a package that is not installed."""
    return ConfigError(f"{purpose} needs the package {package!r}: pip install 'loader-service[pack]'")
