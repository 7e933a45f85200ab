"""Others' words, such as names of files and clients, as they may stand in a log or on a terminal."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return a text without line ends or codes for terminals: these are written as Python writes them."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
