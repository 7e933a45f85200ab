"""Which fields a stream has, how they are shaped, and what is said when they cannot be had."""

from __future__ import annotations

import pytest

from loader_service.errors import ConfigError
from loader_service.plan.stream_fields import CatalogFacts, select_fields, stream_fields, transform_inputs
from loader_service.protocol.fields import CatalogField, Field
from loader_service.protocol.spec import Clip, Frame, Image, Spec

EPISODES = CatalogFacts(
    fields=(
        CatalogField("top", "image", "uint8", (48, 64, 3)),
        CatalogField("wrist", "image", "uint8", (0, 0, 3)),
        CatalogField("qpos", "array", "float64", (14,)),
        CatalogField("sim", "value", "bool", ()),
        CatalogField("task", "value", "S12", ()),
    ),
    name_bytes=9,
)
FEATURES = CatalogFacts(
    fields=(CatalogField("features", "array", "float32", (4096,)), CatalogField("label", "array", "int64", ())),
    name_bytes=0,
)


def spec(clip, **options) -> Spec:
    return Spec(batch_size=2, clip=clip, **options)


def test_a_clip_has_a_time_axis_in_images_and_arrays_and_none_in_values():
    fields = stream_fields(EPISODES, spec(Clip(5), fields=("top", "qpos", "sim", "task")))
    assert fields == (
        Field("top", "uint8", (5, 48, 64, 3)),
        Field("qpos", "float64", (5, 14)),
        Field("sim", "bool", ()),
        Field("task", "S12", ()),
    )


def test_a_frame_has_no_time_axis():
    assert stream_fields(FEATURES, spec(Frame())) == (
        Field("features", "float32", (4096,)),
        Field("label", "int64", ()),
        Field("index", "int64", ()),
        Field("video", "S1", ()),
        Field("start", "int64", ()),
        Field("length", "int64", ()),
    )


def test_in_whole_videos_images_and_arrays_vary():
    fields = stream_fields(EPISODES, spec(None, fields=("qpos", "top", "sim", "length")))
    assert fields == (
        Field("qpos", "float64", (14,), varies=True),
        Field("top", "uint8", (48, 64, 3), varies=True),
        Field("sim", "bool", ()),
        Field("length", "int64", ()),
    )


def test_whole_videos_have_their_lengths_beside_them_though_nobody_asked():
    assert [each.name for each in stream_fields(EPISODES, spec(None, fields=("qpos",)))] == ["qpos", "length"]
    assert [each.name for each in stream_fields(EPISODES, spec(Clip(5), fields=("qpos",)))] == ["qpos"]


def test_a_stream_with_an_index_offers_the_position():
    assert stream_fields(FEATURES, spec(Frame(), indexed=True))[-1] == Field("position", "int64", ())
    with pytest.raises(ConfigError, match="'position' is the entry of an index, and there is none"):
        stream_fields(FEATURES, spec(Frame(), fields=("position",)))


def test_image_options_hold_for_every_camera():
    fields = stream_fields(EPISODES, spec(Clip(5), image=Image(size=(8, 9), channels=1), fields=("top", "wrist")))
    assert [each.shape for each in fields] == [(5, 8, 9, 1)] * 2


def test_a_camera_whose_videos_differ_in_size_is_named():
    with pytest.raises(ConfigError, match=r"field 'wrist': .* the videos differ in size"):
        stream_fields(EPISODES, spec(Clip(5)))


def test_image_options_without_images_are_refused():
    with pytest.raises(ConfigError, match="there are no images here; leave it out"):
        stream_fields(FEATURES, spec(Frame(), image=Image(flip=True)))


def test_an_unknown_field_is_named_with_those_that_there_are():
    with pytest.raises(ConfigError) as caught:
        stream_fields(EPISODES, spec(Clip(5), fields=("qpo",)))
    assert "no field 'qpo'; did you mean 'qpos'? There are 'top', 'wrist', 'qpos'" in str(caught.value)
    with pytest.raises(ConfigError, match=r"no field 'zzz'; choose among 'top', .*, 'length'$"):
        stream_fields(EPISODES, spec(Clip(5), fields=("zzz",)))


def test_a_missing_label_says_how_to_give_labels():
    with pytest.raises(ConfigError, match=r"--labels FILE\.csv"):
        stream_fields(EPISODES, spec(Clip(5), fields=("label",)))
    assert EPISODES.label_dtype is None
    assert FEATURES.label_dtype == "int64"


def test_a_transform_is_given_all_that_there_is_whatever_was_asked_for():
    inputs = transform_inputs(FEATURES, spec(Frame(), fields=("anything",), indexed=True))
    assert [each.name for each in inputs] == ["features", "label", "index", "video", "start", "length", "position"]


def test_what_a_transform_returns_is_chosen_by_name():
    outputs = (Field("x", "float32", (3,)), Field("y", "int64", ()), Field("index", "float32", (9,)))
    assert select_fields(FEATURES, outputs, spec(Frame(), fields=("y", "index"))) == (
        Field("y", "int64", ()),
        Field("index", "int64", ()),  # the service's own
    )
    names = [each.name for each in select_fields(FEATURES, outputs, spec(None))]
    assert names == ["x", "y", "index", "video", "start", "length"]
    with pytest.raises(ConfigError, match="no field 'features'"):
        select_fields(FEATURES, outputs, spec(Frame(), fields=("features",)))
    with pytest.raises(ConfigError, match="none of the fields of this stream does"):
        select_fields(FEATURES, outputs, spec(Frame(), batching="ragged"))
