"""What people mistype in the options of a dataset ends in one line that names it, before there is a service."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, Image, Patience
from loader_client.stream_options import StreamChoice

_MANY = np.array(["random", "global"])
_CLIP = Clip(frames=4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fields": 3}, "fields=3 is not a tuple of names"),
        ({"fields": np.array(2)}, "fields=array(2) is not a tuple of names"),
        ({"fields": {"frames", "label"}}, "is not a tuple of names"),
        ({"fields": {"frames": 1}}, "is not a tuple of names"),
        ({"fields": b"frames"}, "fields=b'frames' is not a tuple of names"),
        ({"image": 0}, "image=0 is no Image; give Image(size=…)"),
        ({"image": {}}, "image={} is no Image"),
        ({"clip": np.array([4, 2])}, "clip=array([4, 2]); give Clip(frames=…)"),
        ({"clip": Clip(4, hop=2)}, "Clip.hop=2 is of sampling='every' alone, and sampling is 'random'"),
        ({"cycle_length": 4}, "cycle_length=4 is of order='interleave' alone, and order is 'global'"),
        ({"block_length": 2, "order": "global"}, "block_length=2 is of order='interleave' alone"),
        ({"order": _MANY}, "order=array(['random', 'global'], dtype='<U6') is unknown; choose one of 'global'"),
        ({"on_error": ["raise"]}, "on_error=['raise'] is unknown"),
        ({"videos": np.array(2)}, "videos=array(2) is no list of names"),
        ({"videos": ["a", None]}, "videos= has None, which is no text"),
        ({"videos": [3]}, "videos= has 3, which is no text"),
        ({"videos": []}, "videos= has no name; give at least one, or None for all"),
        ({"windows": np.array(2)}, "windows=array(2); give a list of Window"),
        ({"shard": np.array(2)}, "shard=array(2) is not a pair; give (rank, world)"),
        ({"index_keys": 3}, "index_keys=3 is no list of keys; give index_keys=['key', …]"),
        ({"index_keys": "video0"}, "index_keys='video0' is no list of keys"),
        ({"index_keys": np.array(2)}, "index_keys=array(2) is no list of keys"),
        ({"index_keys": [None]}, "index_keys has None, which is no string"),
        ({"index_keys": np.array([10**9])}, "index_keys has np.int64(1000000000), which is no string"),
        ({"index_keys": [["video0"]]}, "index_keys has ['video0'], which is no string"),
        ({"index_keys": ["a"], "key_field": 5}, "key_field=5 is no name; give that of a field of strings"),
        ({"key_field": "video"}, "key_field='video' says where index_keys are looked up, and there are none"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        StreamChoice(2, **{"clip": _CLIP, "image": None, **given})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"fields": ["frames"]},
        {"fields": np.array(["frames", "label"])},
        {"clip": Clip(4, sampling="every", hop=2)},
        {"clip": "auto"},
        {"cycle_length": 16},  # as it is by default
        {"cycle_length": 4, "block_length": 2, "order": "interleave"},
        {"index_keys": np.array(["a", "b"])},
        {"index_keys": (each for each in (b"a", "b")), "key_field": "key"},
        {"videos": (each for each in "ab")},
        {"windows": iter(())},
    ],
)
def test_what_makes_sense_is_taken(given: dict[str, Any]) -> None:
    StreamChoice(2, **{"clip": _CLIP, "image": Image(), **given})


@pytest.mark.parametrize("value", ["5", None, float("nan"), 0, -1.0, True])
@pytest.mark.parametrize("name", ["reconnect_timeout_s", "step_timeout_s", "ask_again_s"])
def test_a_patience_is_made_of_seconds(name: str, value: Any) -> None:
    said = re.escape(f"Patience.{name}={value!r}; give a number of seconds above 0")
    with pytest.raises(ConfigError, match=said):
        Patience(**{name: value})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"patience": 5}, "patience=5 is no Patience; give Patience(reconnect_timeout_s=…)"),
        ({"patience": {}}, "patience={} is no Patience"),
        ({"timeout_s": "5"}, "timeout_s='5'; give a number of seconds above 0"),
        ({"service": 3}, "service=3 is no dict of options; give service={'labels': 'labels.csv'}"),
        ({"service": ["labels"]}, "service=['labels'] is no dict of options"),
        ({"service": {1: 2}}, "service={1: …} is no option of a private service"),
        ({"service": {"start_timeout_s": "x"}}, "service start_timeout_s='x'; give a number of seconds above 0"),
        ({"service": {"start_timeout_s": float("nan")}}, "service start_timeout_s=nan"),
        ({"service": {"start_timeout_s": 0}}, "service start_timeout_s=0; give"),
    ],
)
def test_an_option_of_a_connection_that_cannot_be_is_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        loader_client.connect("/no such/*.h5", **given)
