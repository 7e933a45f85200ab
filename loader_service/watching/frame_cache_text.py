"""What is kept of decoded frames as lines for people; knows messages alone."""

from __future__ import annotations

from loader_service.protocol.messages import FrameCacheStatus
from loader_service.sizes import size_text


def frame_cache_lines(cache: FrameCacheStatus) -> list[str]:
    """Return what the cache of decoded frames holds, and how often frames were found there since the start."""
    asked = cache.frames_found + cache.frames_decoded
    share = f"{cache.frames_found / asked:.1%}" if asked else "none yet"
    taken = sum(form.taken_bytes for form in cache.forms)
    return [
        f"decoded frames in {cache.folder!r}: {size_text(taken)} of {size_text(cache.budget_bytes)}; found there: "
        f"{share} ({cache.frames_found} of {asked}), added: {cache.frames_added}",
        *(
            f"  {form.title}: room for {form.kept_frames / max(1, form.frames):.0%} of {form.frames} frames, "
            f"{size_text(form.taken_bytes)}"
            for form in cache.forms
        ),
    ]
