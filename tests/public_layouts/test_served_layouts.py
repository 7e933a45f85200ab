"""What a catalog says of a public layout is what a service delivers to a client, pixel by pixel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from tests.client.reference import decode
from tests.public_layouts.expectations import Array, Case, Encoded, Form, Ragged, Serves, Value
from tests.public_layouts.not_yet import NOT_YET
from tests.public_layouts.reading import decoded, files_of
from tests.public_layouts.table import TABLE
from tests.support.services import running_service

#: A few of each kind of storage; each costs the start of a service.
_SERVED = (
    "act_raw",
    "csgo",
    "encoded_frames_as_groups",
    "frames_as_void_with_json",
    "images_masks_and_labels_by_group",
    "kitti_drives",
    "libero",
    "mobile_aloha",
    "numbered_frames_end_to_end",
    "png_frames",
    "poses_in_steps",
    "rdt_1b",
    "replay_buffer",
    "resnets_3d_flow",
    "robomind",
    "robonet",
    "robotwin",
)


def _marks(name: str) -> list[pytest.MarkDecorator]:
    reason = NOT_YET.get(f"{name} + service", NOT_YET.get(name, ""))
    return [pytest.mark.xfail(strict=True, reason=reason)] if reason else []


@pytest.mark.parametrize("case", [pytest.param(TABLE[name], id=name, marks=_marks(name)) for name in _SERVED])
def test_a_service_delivers_whole_videos_of_a_public_layout(tmp_path: Path, case: Case) -> None:
    wrong = _failure(tmp_path, case)
    if wrong:
        pytest.fail(wrong, pytrace=False)


def _failure(folder: Path, case: Case) -> str:
    """Return what a service does not deliver as expected, as text: a traceback would keep its memory mapped."""
    layout = case.write(folder)
    assert isinstance(layout.undeclared, Serves)
    with running_service(*files_of(folder, layout)) as service:
        try:
            _check_stream(service.endpoint, layout.undeclared)
        except Exception as error:  # noqa: BLE001 - kept as text, so that the service is stopped, and not killed
            return f"{type(error).__name__}: {error}"
    return ""


def _check_stream(endpoint: str, expected: Serves) -> None:
    with loader_client.connect(endpoint) as connection:
        there = {field.name for field in connection.catalog.fields}
        keys = expected.videos[0].fields
        names = {key: next((name for name in key.split("|") if name in there), key) for key in keys}
        fields = ("index", "length", *names.values())
        count = 0
        for batch in connection.batches(1, clip=None, fields=fields, shuffle=False, epochs=1):
            video = expected.videos[count]
            count += 1
            length = min(video.frame_count, *(_entries(form) for form in video.fields.values()))
            assert (int(batch["index"][0]), int(batch["length"][0])) == (count - 1, length)
            for key, form in video.fields.items():
                _check(batch[names[key]][0], form, f"{key} of {video.name}")
    assert count == len(expected.videos)


def _entries(form: Form) -> float:
    """Return how many frames have an entry: a stream that asks for actions too ends with them."""
    if isinstance(form, Encoded):
        return len(form.frames)
    return len(form.values) if isinstance(form, Array) else math.inf


def _check(got: Any, form: Form, where: str) -> None:
    assert not isinstance(form, Ragged), "served cases have no ragged field"
    if isinstance(form, Encoded):
        pictures = [decoded(each) if each.startswith(b"\x89PNG") else decode(each) for each in form.frames]
        np.testing.assert_array_equal(got, np.stack(pictures)[: len(got)], err_msg=where)
    elif isinstance(form, Array):
        np.testing.assert_array_equal(got, form.values[: len(got)], err_msg=where)
    elif isinstance(form, Value) and not isinstance(form.value, str):
        np.testing.assert_array_equal(np.ravel(got), np.ravel(form.value), err_msg=where)
    else:
        assert got == form.value.encode(), where
