"""Takes what a refusal advises out of its words, so that tests try it."""

from __future__ import annotations

import re

_SCHEMA = re.compile(r"`videos = ([^`]*)`(?:, `(lengths = [^`]*)`)? and `field = (.*?)`")


def schemas_in(message: str) -> list[str]:
    """Return the schemas that a message advises, as TOML."""
    found = [f"videos = {videos}\n{more}\nfield = {fields}\n" for videos, more, fields in _SCHEMA.findall(message)]
    assert found, f"advises no schema: {message}"
    return found
