"""Says what names are besides: times of frames, which are no field, or a word where numbers tell other videos apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, by_form, unnumbered
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.natural import are_dates, are_times, decimals_of, seconds_of
from loader_service.sizes import counted

if TYPE_CHECKING:
    from loader_service.catalog.videos.episodes import Found


def lines_of_times(found: Found) -> dict[str, str]:
    """Return a line for each field whose frames are datasets that are called by times, as the first video has them.

    Parameters
    ----------
    found
        The videos of a file.
    """
    lines: dict[str, str] = {}
    for first in found.episodes:
        if first.frame_count > 1:
            break
    else:
        return lines
    for key, part in first.parts.items():
        video = part.frames
        names = [info.basename for info in video.members] if video and isinstance(video, DatasetsVideo) else []
        if names and any(are(names) for are in (are_times, are_dates, decimals_of, seconds_of)):
            lines[f"{key or 'frames'} (names)"] = (
                f"its frames are called by times, {names[0]!r} to {names[-1]!r}, which say their order and are no "
                "field; write these as numbers in a dataset beside the frames, with one for each, in a file"
            )
    return lines


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
    one = _as_frames(found, numbered[0])
    return {
        f"{name} (word)": f"{name!r} is a video here, and {counted(len(numbered), 'other')} such as {numbered[0]!r} "
        "are told apart by numbers; if it is something else, such as statistics of these, take it out of the file, or "
        f"name the videos that are meant, by videos=[…] of loader_client.dataset{one}, in a file"
        for name in words
        if unnumbered(basename_of(name)) == basename_of(name)
    }


def _as_frames(found: Found, name: str) -> str:
    """Return what makes frames of a video of encoded pictures that are a video each, given one of them; or nothing."""
    videos = [part.frames for each in found.episodes for part in each.parts.values() if each.name == name]
    pictures = [video for video in videos if isinstance(video, DatasetsVideo) and len(video.members) == 1]
    if not pictures or pictures[0].members[0].path != name:
        return ""
    return f"; or give --frames {unnumbered(name).replace('#', '*')!r} if the others are frames of a video"
