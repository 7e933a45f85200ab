"""Says which video is named by a word where numbers tell all others apart: statistics of them, it may be. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, by_form, unnumbered
from loader_service.sizes import counted

if TYPE_CHECKING:
    from loader_service.catalog.videos.episodes import Found

#: Videos that numbers tell apart, at least; and others, at most.
_LEAST_NUMBERED, _MOST_WORDS = 3, 2


def lines_of_words(found: Found) -> dict[str, str]:
    """Return a line for each video that is named by a word, beside more that numbers tell apart: ``stats``, ``ep_7``.

    Parameters
    ----------
    found
        The videos of a file.
    """
    if len(found.episodes) <= _LEAST_NUMBERED:
        return {}
    alike = by_form([episode.name for episode in found.episodes], str).values()
    numbered = max(alike, key=len)
    words = [name for names in alike if names is not numbered for name in names]
    if len(numbered) < _LEAST_NUMBERED or len(words) > _MOST_WORDS:
        return {}
    return {
        f"{name} (word)": f"{name!r} is a video here, and {counted(len(numbered), 'other')} such as {numbered[0]!r} "
        "are told apart by numbers; if it is something else, such as statistics of these, take it out of the file, or "
        "name the videos that are meant, by videos=[…] of loader_client.dataset, in a file"
        for name in words
        if unnumbered(basename_of(name)) == basename_of(name)
    }
