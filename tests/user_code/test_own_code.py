"""What users' sources and transforms make of samples arrives as they made it, or is an error of one row by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loader_service.catalog.columns import Catalog
from loader_service.catalog.scan.source_rows import catalog_of_source
from loader_service.errors import ConfigError, SourceError
from loader_service.plan.stream_fields import CatalogFacts, select_fields, transform_inputs
from loader_service.protocol.fields import CatalogField, Field, SlotLayout
from loader_service.protocol.messages import Probed, ProbeStream
from loader_service.protocol.spec import Clip, Frame, Spec
from loader_service.source_facts import SourceOptions
from loader_service.user_code.python_source import open_source
from loader_service.worker.frame_fields import Origin
from loader_service.worker.main import WorkerProcess
from loader_service.worker.transforms import TransformedStreams
from loader_service.worker_options import WorkerOptions
from tests.support.catalogs import catalog_of
from tests.support.videos import make_videos, write_videos
from tests.worker.filling import Filled, fill_slot, filled, origin_of, rows_of, writer_of

LENGTHS = (6, 4, 9, 5, 8)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    directory = tmp_path_factory.mktemp("videos")
    videos = make_videos(LENGTHS, height=16, width=24)
    write_videos(directory / "a.h5", "group_vlen", videos, {name: label for label, name in enumerate(videos)})
    return catalog_of(directory)


def probed(origin: Origin, spec: Spec, name: str) -> tuple[Field, ...]:
    facts = CatalogFacts(origin.catalog.fields, origin.catalog.name_width)
    return transforms(origin, name).probe(spec, transform_inputs(facts, spec))


def transforms(origin: Origin, name: str) -> TransformedStreams:
    return TransformedStreams(origin, f"tests.user_code.own_code:{name}")


def transformed(
    catalog: Catalog,
    spec: Spec,
    name: str,
    samples: list[int],
    outputs: tuple[Field, ...] = (),
    *,
    epoch: int = 0,
    **options: Any,
) -> Filled:
    """Return what a worker makes of samples with a transform, whose outputs are probed unless they are given."""
    with origin_of(catalog) as origin:
        facts = CatalogFacts(catalog.fields, catalog.name_width)
        fields = select_fields(facts, outputs or probed(origin, spec, name), spec)
        longest = int(catalog.frame_counts.max())
        layout = SlotLayout(fields, spec.batch_size, spec.batch_size * longest if spec.varies else 0)
        writer = transforms(origin, name).writer(spec, transform_inputs(facts, spec), layout)
        return fill_slot(writer, rows_of(catalog, spec, samples, **options), epoch)


# --- transforms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [Clip(3), Clip(8), Frame()])
def test_a_transform_that_changes_nothing_gives_the_same_batch(catalog: Catalog, clip: Any) -> None:
    spec = Spec(batch_size=4, clip=clip, seed=3)
    plain = filled(catalog, spec, [4, 0, 3, 1], epoch=2)
    got = transformed(catalog, spec, "unchanged", [4, 0, 3, 1], epoch=2)
    assert got.fields.keys() == plain.fields.keys()
    for name in plain.fields:
        np.testing.assert_array_equal(got[name], plain[name], err_msg=name)


@pytest.mark.parametrize("batching", ["pad", "ragged"])
def test_whole_videos_go_through_a_transform(catalog: Catalog, batching: Any) -> None:
    spec = Spec(batch_size=3, clip=None, batching=batching)
    plain = filled(catalog, spec, [2, 0, 4])
    got = transformed(catalog, spec, "unchanged", [2, 0, 4])
    for name in plain.fields:
        np.testing.assert_array_equal(got[name], plain[name], err_msg=name)


def test_outputs_are_new_fields_with_their_own_dtypes(catalog: Catalog) -> None:
    spec = Spec(batch_size=2, clip=Clip(3), fields=("brightness", "pixels", "index"))
    got = transformed(catalog, spec, "noisy", [1, 2])
    plain = filled(catalog, Spec(batch_size=2, clip=Clip(3)), [1, 2])["frames"]
    assert list(got.fields) == ["brightness", "pixels", "index"]
    assert (got["pixels"].dtype, got["brightness"].dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(got["brightness"], plain.mean(axis=(1, 2, 3, 4)))
    noise = got["pixels"] - plain / np.float32(255)
    assert abs(noise.std() - 1) < 0.1


def test_the_generator_is_keyed_by_position_or_sample(catalog: Catalog) -> None:
    spec = Spec(batch_size=3, clip=Clip(3, sampling="start"), indexed=True, fields=("pixels",))
    got = transformed(catalog, spec, "noisy", [1, 1, 1], positions=[5, 9, 5])["pixels"]
    np.testing.assert_array_equal(got[0], got[2])
    assert not np.array_equal(got[0], got[1])
    again = transformed(catalog, spec, "noisy", [1], rows=[2], positions=[9])["pixels"]
    np.testing.assert_array_equal(again[2], got[1])
    later = transformed(catalog, spec, "noisy", [1, 1, 1], positions=[5, 9, 5], epoch=1)["pixels"]
    assert not np.array_equal(later[0], got[0])


def test_bookkeeping_stays_true_and_no_sample_sees_what_was_done_to_another(catalog: Catalog) -> None:
    spec = Spec(batch_size=5, clip=Clip(3))
    plain = filled(catalog, spec, [0, 1, 2, 3, 4])
    got = transformed(catalog, spec, "spoiling", [0, 1, 2, 3, 4])
    assert got.bad == ()
    np.testing.assert_array_equal(got["before"], plain["frames"])
    np.testing.assert_array_equal(got["frames"], 255 - plain["frames"])
    for name in ("index", "video", "start", "length"):
        np.testing.assert_array_equal(got[name], plain[name], err_msg=name)


def test_outputs_may_be_strided_or_read_only(catalog: Catalog) -> None:
    spec = Spec(batch_size=2, clip=Clip(3))
    plain = filled(catalog, spec, [1, 2])["frames"]
    got = transformed(catalog, spec, "odd_memory", [1, 2])
    np.testing.assert_array_equal(got["mirrored"], plain[:, :, :, ::-1])
    np.testing.assert_array_equal(got["turned"], np.swapaxes(plain, 2, 3))
    np.testing.assert_array_equal(got["frozen"], plain)


def test_outputs_as_long_as_the_video_vary_and_others_do_not(catalog: Catalog) -> None:
    spec = Spec(batch_size=3, clip=None)
    with origin_of(catalog) as origin:
        fields = probed(origin, spec, "summary")
    assert [(field.name, field.shape, field.varies) for field in fields] == [
        ("means", (), True),
        ("histogram", (10,), False),
        ("label", (), False),
        ("title", (), False),
    ]
    got = transformed(catalog, spec, "summary", [2, 1, 0])
    assert got.bad == ()
    assert got["length"].tolist() == [9, 4, 6]
    whole = filled(catalog, spec, [2, 1, 0])
    for row, length in enumerate([9, 4, 6]):
        frames = whole.frames("frames", row, length)
        means = got.frames("means", row, 9)
        np.testing.assert_allclose(means[:length], frames.mean(axis=(1, 2, 3)), rtol=1e-5)
        assert not means[length:].any()
        np.testing.assert_array_equal(got["histogram"][row], np.histogram(frames, 10)[0])


def test_an_axis_that_is_as_long_as_the_first_video_by_chance_does_not_vary(tmp_path: Path) -> None:
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([10, 10, 4]), {f"video{n}": n for n in range(3)})
    catalog = catalog_of(tmp_path)
    with origin_of(catalog) as origin:
        fields = {field.name: field.varies for field in probed(origin, Spec(batch_size=1, clip=None), "summary")}
    assert fields == {"means": True, "histogram": False, "label": False, "title": False}


def test_outputs_of_another_length_than_the_video_are_refused_at_the_opening(catalog: Catalog) -> None:
    with origin_of(catalog) as origin, pytest.raises(SourceError, match=r"'frames' as uint8 of shape \(3, .* and as "):
        probed(origin, Spec(batch_size=1, clip=None), "every_second")


def test_each_bad_output_is_an_error_of_its_row_with_file_video_expected_and_got(catalog: Catalog) -> None:
    spec = Spec(batch_size=5, clip=Clip(3), fields=("pixels",))
    outputs = (Field("pixels", "uint8", (3, 16, 24, 3)),)
    got = transformed(catalog, spec, "picky", [4, 3, 2, 1, 0], outputs)
    said = {bad.row: bad.message for bad in got.bad}
    assert sorted(said) == [1, 2, 3, 4]
    assert {bad.error for bad in got.bad} == {"SourceError"}
    assert all("a.h5" in message for message in said.values())
    assert "'video3'" in said[1]
    assert "no field 'pixels', only 'other'" in said[1]
    assert "expected uint8 of shape (3, 16, 24, 3), got float32 of shape (3, 16, 24, 3)" in said[2]
    assert "expected uint8 of shape (3, 16, 24, 3), got uint8 of shape (3, 15, 24, 3)" in said[3]
    assert "no label 0 please" in said[4]
    np.testing.assert_array_equal(got["pixels"][0], filled(catalog, Spec(batch_size=1, clip=Clip(3)), [4])["frames"][0])


def test_a_probe_passes_over_bad_samples_only_where_others_may_take_their_place(catalog: Catalog) -> None:
    with origin_of(catalog) as origin, pytest.raises(SourceError, match=r"'video0'.*no label 0 please"):
        probed(origin, Spec(batch_size=1, clip=Clip(3)), "picky")
    with origin_of(catalog) as origin:
        (field,) = probed(origin, Spec(batch_size=1, clip=Clip(3), on_error="substitute"), "picky")
    assert field == Field("pixels", "uint8", (3, 15, 24, 3))


def test_outputs_without_a_tensor_form_are_refused_by_name(catalog: Catalog) -> None:
    with origin_of(catalog) as origin, pytest.raises(SourceError, match=r"pixels.*complex128"):
        probed(origin, Spec(batch_size=1, clip=Clip(3)), "objects")


@pytest.mark.parametrize(("name", "error"), [("noisy", ""), ("picky", "SourceError"), ("", "ConfigError")])
def test_a_worker_answers_a_probe_with_fields_or_the_error(catalog: Catalog, name: str, error: str) -> None:
    reference = name and f"tests.user_code.own_code:{name}"
    worker = WorkerProcess(WorkerOptions(7, "", "", "", transform=reference), catalog)
    spec = Spec(batch_size=1, clip=Clip(3))
    inputs = transform_inputs(CatalogFacts(catalog.fields, catalog.name_width), spec)
    said: list[Any] = []
    assert worker.obey([ProbeStream(3, spec, inputs)], said.append)
    worker.close()
    (answer,) = said
    assert isinstance(answer, Probed)
    assert (answer.worker, answer.probe, answer.error) == (7, 3, error)
    assert bool(answer.fields) is not bool(answer.message) is bool(error)


def test_what_own_code_prints_leaves_the_process_line_by_line() -> None:
    program = (
        "import os\n"
        "from loader_service.worker.main import print_by_lines\n"
        "print_by_lines()\n"
        "print('printed')\n"
        "os.write(1, b'written\\n')\n"
        "os.system('echo echoed')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout.splitlines(), done.stderr) == (["printed", "written", "echoed"], "")


def test_a_transform_of_more_than_fits_into_memory_is_refused() -> None:
    refused = pytest.raises(ConfigError, match=r"longest has 35184372088832 frames .* give Clip")
    with source_of("Counter.count", 2**45, NUMBERS, "generator") as origin, refused:
        probed(origin, Spec(batch_size=1, clip=None), "unchanged")


# --- sources -------------------------------------------------------------------------------------------------------


GRID = (CatalogField("grid", "array", "float32", (2, 2)), CatalogField("square", "array", "int64", ()))
NUMBERS = (CatalogField("number", "array", "int64", ()), CatalogField("pair", "array", "int16", (2,)))


@contextmanager
def source_of(name: str, rows: int, fields: tuple[CatalogField, ...], kind: Any, **arguments: Any) -> Iterator[Origin]:
    reference = f"tests.user_code.own_code:{name}"
    catalog = catalog_of_source(reference, rows, fields, kind, "0" * 32)
    with origin_of(catalog, open_source(SourceOptions(reference, arguments, seed=0), worker=0)) as origin:
        yield origin
    catalog.close()


def test_items_of_a_map_source_are_samples_in_any_order_and_multiplicity() -> None:
    with source_of("Squares", 10, GRID, "map") as origin:
        spec = Spec(batch_size=5, clip=Frame(), indexed=True)
        got = fill_slot(
            writer_of(origin, spec), rows_of(origin.catalog, spec, [7, 0, 7, 9, 2], positions=[4, 5, 6, 7, 8])
        )
    assert got.bad == ()
    np.testing.assert_array_equal(got["grid"], np.array([7, 0, 7, 9, 2], "f4")[:, None, None] * np.ones((2, 2), "f4"))
    assert got["square"].tolist() == [49, 0, 49, 81, 4]
    assert got["index"].tolist() == [7, 0, 7, 9, 2]
    assert got["position"].tolist() == [4, 5, 6, 7, 8]


def test_windows_of_a_map_source_are_clips() -> None:
    with source_of("Squares", 10, GRID, "map") as origin:
        spec = Spec(batch_size=2, clip=Clip(3, 2, "every", 1), fields=("square",))
        got = fill_slot(writer_of(origin, spec), rows_of(origin.catalog, spec, [0, 4]))
    assert got["square"].tolist() == [[0, 4, 16], [16, 36, 64]]


def test_an_item_of_another_shape_is_an_error_of_its_row_with_expected_and_got() -> None:
    with source_of("Squares", 10, GRID, "map", odd=4) as origin:
        spec = Spec(batch_size=3, clip=Frame())
        got = fill_slot(writer_of(origin, spec), rows_of(origin.catalog, spec, [3, 4, 5]))
    (bad,) = got.bad
    assert (bad.row, bad.error) == (1, "SourceError")
    assert "item 4 of " in bad.message
    assert "own_code:Squares" in bad.message
    assert "'grid': expected float32 of shape (2, 2), got float32 of shape (3, 2)" in bad.message
    assert got["square"][[0, 2]].tolist() == [9, 25]


def test_a_text_that_is_longer_than_its_room_is_an_error_of_its_row_with_both_lengths() -> None:
    with source_of("Titles", 10, (CatalogField("title", "array", "S64", ()),), "map") as origin:
        spec = Spec(batch_size=3, clip=Frame())
        got = fill_slot(writer_of(origin, spec), rows_of(origin.catalog, spec, [6, 7, 0]))
    (bad,) = got.bad
    assert (bad.row, bad.error) == (1, "SourceError")
    assert "item 7 of " in bad.message
    assert "'title': a text of 70 bytes, and there is room for 64" in bad.message
    assert got["title"][[0, 2]].tolist() == [b"x" * 60, b""]


def test_a_generator_source_gives_its_items_one_after_the_other_whatever_is_asked_for() -> None:
    with source_of("Counter.count", 2**40, NUMBERS, "generator") as origin:
        spec = Spec(batch_size=3, clip=Frame())
        writer = writer_of(origin, spec)
        first = fill_slot(writer, rows_of(origin.catalog, spec, [2**39, 5, 17]))
        second = fill_slot(writer, rows_of(origin.catalog, spec, [1, 0], rows=[1, 0]))
    assert first["number"].tolist() == [0, 1, 2]
    assert first["pair"].tolist() == [[0, 1], [1, 2], [2, 3]]
    assert first["index"].tolist() == [2**39, 5, 17]
    assert second["number"][[1, 0]].tolist() == [3, 4]


def test_a_transform_may_follow_a_source() -> None:
    with source_of("Squares", 10, GRID, "map") as origin:
        spec = Spec(batch_size=2, clip=Frame())
        facts = CatalogFacts(origin.catalog.fields, origin.catalog.name_width)
        fields = select_fields(facts, probed(origin, spec, "unchanged"), spec)
        writer = transforms(origin, "unchanged").writer(spec, transform_inputs(facts, spec), SlotLayout(fields, 2))
        got = fill_slot(writer, rows_of(origin.catalog, spec, [3, 8]))
    assert got["square"].tolist() == [9, 64]
    np.testing.assert_array_equal(got["grid"], [np.full((2, 2), 3), np.full((2, 2), 8)])
