"""Files whose names say kinds of what is seen have a line with the command that joins them, which works."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.advice import label_advice
from loader_service.errors import CatalogError
from tests.catalog.advice import run_command_in, schemas_in
from tests.support.catalogs import catalog_of, declared_catalog
from tests.support.videos import frame_jpeg

_PICTURE = (24, 32, 3)


def _write(folder, names, shape=_PICTURE):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(folder / name, "w") as root:
            root["dataset"] = np.full(shape, number, np.uint8)


def _files(folder):
    return sorted(folder.rglob("*.h*5"))


def _line(found):
    (line,) = [each for each in found.left_out if "say several kinds" in each]
    return line


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        ([f"frame.000{n}.{kind}.hdf5" for n in range(3) for kind in ("color", "normal")], {"color", "normal"}),
        ([f"image_{n}.h5" for n in (1, 2, 10)] + [f"mask_{n}.h5" for n in (1, 2, 10)], {"image", "mask"}),
        ([f"{kind}/{n}.h5" for n in range(3) for kind in ("image", "mask", "depth")], {"image", "mask", "depth"}),
        ([f"{kind}/{name}.h5" for name in ("ann", "bob") for kind in ("images", "masks")], {"images", "masks"}),
    ],
)
def test_a_line_has_the_command_that_makes_one_sample_of_files_that_belong_together(tmp_path, names, kinds):
    _write(tmp_path / "data", names)
    with closing(catalog_of(tmp_path, *_files(tmp_path / "data"))) as found:
        assert found.video_count == len(names)
        run_command_in(_line(found), tmp_path / "new")
        assert "{folder}" not in str(label_advice(found))
    with closing(catalog_of(tmp_path / "new/joined")) as joined:
        assert joined.video_count == len(names) / len(kinds)
        assert {field.name for field in joined.fields} == kinds


@pytest.mark.parametrize("name", ["{name}_{kind}.h5", "{kind}-{name}.h5"])
def test_kinds_of_files_without_numbers_have_a_line(tmp_path, name):
    names = [name.format(name=each, kind=kind) for each in ("ann", "bob") for kind in ("image", "mask")]
    _write(tmp_path, names)
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert "give the files of one kind alone" in _line(found)


def test_kinds_in_several_folders_have_a_line_too(tmp_path):
    _write(tmp_path, [f"cam{c}/frame.{n}.{k}.h5" for c in (0, 1) for n in (3, 4) for k in ("semantic_instance", "rgb")])
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert "make one of each" in _line(found)
        assert "and so in each of 2 folders" in _line(found)


def test_a_question_about_one_of_such_files_says_so(tmp_path):
    _write(tmp_path, [f"frame.{n}.{kind}.h5" for n in range(3) for kind in ("depth", "semantic")], shape=(24, 32))
    with pytest.raises(CatalogError, match=r"say several kinds, 'depth', 'semantic'.*join --by numbers"):
        catalog_of(tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        [f"{side}/{n}.h5" for n in range(3) for side in ("left", "right")],
        [f"image_{side}/{n}.h5" for n in range(3) for side in ("left", "right")],
        [f"{name}/{n}.h5" for n in range(3) for name in ("cat", "mask")],
        [f"image_{n}.h5" for n in range(3)] + [f"mask_{n}.h5" for n in range(2)],
        ["image_0.h5", "mask_0.h5"],
        [f"patient_{p}_slice_{n}.h5" for p in (1, 2) for n in range(3)],
        [f"{name}/{n}.h5" for n in range(3) for name in ("normal", "tumor")],
    ],
)
def test_views_classes_and_numbers_are_no_kinds(tmp_path, names):
    _write(tmp_path, names)
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert not [line for line in found.left_out if "say several kinds" in line]


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        (["images.h5", "masks.h5"], {"images", "masks"}),
        (["im.h5", "seg.h5"], {"im", "seg"}),
        (["x.h5", "y.h5"], {"x", "y"}),
        (["rgb.h5", "depth.h5", "flow.h5"], {"rgb", "depth", "flow"}),
        (
            ["a_imgs_train.h5", "a_groundTruth_train.h5", "a_borderMasks_train.h5"],
            {"imgs", "groundTruth", "borderMasks"},
        ),
        (["scan.h5", "scan_mask.h5"], {"dataset", "dataset_1"}),
        (["lr/data.h5", "hr/data.h5"], {"lr", "hr"}),
    ],
)
def test_a_whole_file_of_each_kind_has_a_line_with_the_command_that_joins_their_rows(tmp_path, names, fields):
    _write(tmp_path / "data", names, shape=(6, *_PICTURE))
    with closing(catalog_of(tmp_path, *_files(tmp_path / "data"))) as found:
        run_command_in(_line(found), tmp_path)
    each = (f'{{name = "{name}", kind = "image", dataset = "{name}"}}' for name in fields)
    schema = f'videos = "table"\nfield = [{", ".join(each)}]'
    with closing(declared_catalog(tmp_path, schema, tmp_path / "joined.h5")) as joined:
        assert joined.frame_count == 6
        assert len(joined.fields) == len(names)


def test_whole_files_of_other_sides_say_no_more_that_time_may_be_another_axis(tmp_path):
    _write(tmp_path, ["imgs.h5"], shape=(4, 3, 24, 32))
    _write(tmp_path, ["masks.h5"], shape=(4, 1, 24, 32))
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert "join --by rows" in _line(found)
        assert "may be no time" not in "".join(found.left_out)


def test_videos_of_the_same_names_in_files_of_kinds_are_joined_by_groups(tmp_path):
    for kind in ("rgb", "depth"):
        with h5py.File(tmp_path / f"{kind}.h5", "w") as root:
            for number, count in enumerate((5, 7)):
                root[f"episode_{number}/data"] = np.zeros((count, *_PICTURE), np.uint8)
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert found.video_count == 4
        run_command_in(_line(found), tmp_path)
    with closing(catalog_of(tmp_path, tmp_path / "joined.h5")) as joined:
        assert (joined.video_count, len(joined.fields)) == (2, 2)


def test_kinds_of_one_name_in_each_folder_have_a_line(tmp_path):
    _write(tmp_path, [f"{folder}/{kind}.h5" for folder in ("ann", "bob", "eve") for kind in ("rgb", "depth")])
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert "give the files of one kind alone" in _line(found)


@pytest.mark.parametrize(
    "names",
    [
        ["left.h5", "right.h5"],
        ["cat.h5", "mask.h5"],
        ["image_0.h5", "mask_1.h5"],
        ["tumor_images.h5", "normal_images.h5"],
        ["masks_a.h5", "masks_b.h5"],
        ["normal.h5", "tumor.h5"],
        ["image.h5", "images.h5"],
    ],
)
def test_whole_files_of_views_classes_and_shards_are_no_kinds(tmp_path, names):
    _write(tmp_path, names, shape=(6, *_PICTURE))
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert not [line for line in found.left_out if "say several kinds" in line]


def test_whole_files_of_other_row_counts_are_no_kinds(tmp_path):
    _write(tmp_path, ["images.h5"], shape=(6, *_PICTURE))
    _write(tmp_path, ["masks.h5"], shape=(4, *_PICTURE))
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert not [line for line in found.left_out if "say several kinds" in line]


@pytest.mark.parametrize("kinds", [("clean", "noisy"), ("input", "target"), ("gt", "partial"), ("hr", "lr")])
@pytest.mark.parametrize("name", ["{kind}_{number:03d}.h5", "{kind}/1a{number}.h5"])
def test_halves_of_pairs_are_kinds_that_join_puts_together(tmp_path, kinds, name):
    _write(tmp_path / "data", [name.format(kind=kind, number=number) for kind in kinds for number in range(3)])
    with closing(catalog_of(tmp_path, *_files(tmp_path / "data"))) as found:
        run_command_in(_line(found), tmp_path / "new")
    assert len(_files(tmp_path / "new/joined")) == 3


def test_kinds_whose_folders_say_them_too_have_a_line(tmp_path):
    _write(tmp_path, [f"{kind}_train/{kind}_train_{n}.h5" for kind in ("observation", "ground_truth") for n in (0, 1)])
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert "'observation_train'" in _line(found)


@pytest.mark.parametrize(
    ("names", "said"), [(("gap_resnet", "gap_xception"), True), (("part_1", "part_2"), False), (("ann", "bob"), False)]
)
def test_tables_of_as_many_rows_by_names_of_one_word_have_a_line_with_join(tmp_path, names, said):
    (tmp_path / "data").mkdir()
    for number, name in enumerate(names):
        with h5py.File(tmp_path / "data" / f"{name}.h5", "w") as root:
            root["features"], root["label"] = np.full((8, 16), number, np.float32), np.arange(8)
    with closing(catalog_of(tmp_path, *_files(tmp_path / "data"))) as found:
        lines = [line for line in found.left_out if "each of 2 files has 8 rows, as" in line]
    assert bool(lines) is said
    if said:
        run_command_in(lines[0], tmp_path / "new")
        with closing(catalog_of(tmp_path, tmp_path / "new/joined.h5")) as joined:
            assert joined.frame_counts.tolist() == [8]


def test_a_folder_whose_name_has_the_letters_of_one_kind_in_it_is_none_of_it(tmp_path):
    _write(tmp_path, [f"projects/{kind}_{number}.h5" for kind in ("ct", "mr") for number in range(2)])
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert "'ct', 'mr'" in _line(found)


@pytest.mark.parametrize(
    "name", ["{kind}_{number:03d}.h5", "{kind}/1a{number}.h5", "{kind}/{number}.h5", "s{number}_{kind}.h5"]
)
def test_files_of_the_same_numbers_with_any_words_have_a_line_with_join(tmp_path, name):
    _write(tmp_path / "data", [name.format(kind=kind, number=number) for kind in "AB" for number in range(3)])
    with closing(catalog_of(tmp_path, *_files(tmp_path / "data"))) as found:
        (line,) = [each for each in found.left_out if "have the same n" in each]
        run_command_in(line, tmp_path / "new")
    files = _files(tmp_path / "new/joined")
    with pytest.raises(CatalogError, match="one frame a file, with a field for each name or videos") as asked:
        catalog_of(tmp_path, *files)
    with closing(declared_catalog(tmp_path, schemas_in(str(asked.value))[0], *files)) as joined:
        assert (joined.video_count, {field.name for field in joined.fields}) == (3, {"A", "B"})


@pytest.mark.parametrize(
    "names",
    [
        [f"A_{number}.h5" for number in range(3)],
        [f"A_{number}.h5" for number in range(3)] + [f"B_{number}.h5" for number in range(2)],
        [f"cam{camera}/{number}.h5" for camera in (0, 1) for number in range(3)],
        [f"{kind}/{number}.h5" for kind in "ABCDE" for number in range(3)],
    ],
    ids=["one word", "other numbers", "numbers alone", "five words"],
)
def test_files_of_no_pairs_have_no_line_about_them(tmp_path, names):
    _write(tmp_path, names)
    with closing(catalog_of(tmp_path, *_files(tmp_path))) as found:
        assert not [line for line in found.left_out if "have the same n" in line]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("low", "high"), True),
        (("rain", "norain"), True),
        (("Train_A", "Train_B"), False),
        (("flair", "t1ce"), True),
        (("A", "B"), True),
        (("a", "b"), False),
        (("pre/city", "post/city"), True),
        (("pan", "ms", "dem"), True),
        (("t1", "t2"), False),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_pictures_in_files_that_words_alone_tell_apart_have_a_line_with_join(tmp_path, names, said, beside):
    paths = [tmp_path / "data" / f"{name}.h5" for name in names]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as root:
            root["images"] = np.full((7, *_PICTURE), number, np.uint8)
            if beside:
                root["boxes"] = np.full((7, 4), number, np.float32)
    with closing(catalog_of(tmp_path, *paths)) as found:
        lines = [line for line in found.left_out if "nothing is to be done if these are others, as of classes" in line]
    assert bool(lines) is said
    if said:
        run_command_in(lines[0], tmp_path / "new")
        served = _served(tmp_path, tmp_path / "new/joined.h5")
        assert any(rows == 7 and fields >= len(names) for rows, fields in served)


def _served(folder, path):
    """Return the rows and fields of a file, or, where it is asked about, by each schema that is offered."""
    try:
        with closing(catalog_of(folder, path)) as found:
            return [(found.frame_count, len(found.fields))]
    except CatalogError as error:
        served = []
        for schema in schemas_in(str(error)):
            with closing(declared_catalog(folder, schema, path)) as found:
                served.append((found.frame_count, len(found.fields)))
        return served


def test_encoded_pictures_of_numbers_alone_have_that_line_too(tmp_path):
    jpeg = np.frombuffer(frame_jpeg(0), np.uint8)
    for name in ("hazy", "clear"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            for number in range(8):
                root[str(number)] = jpeg
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "each of 2 files has 8 rows" in line]
    run_command_in(line, tmp_path / "new")
    with pytest.raises(CatalogError, match="one video with 2 cameras") as asked:
        catalog_of(tmp_path, tmp_path / "new/joined.h5")
    with closing(declared_catalog(tmp_path, schemas_in(str(asked.value))[0], tmp_path / "new/joined.h5")) as found:
        assert (found.frame_counts.tolist(), [field.name for field in found.fields]) == ([8], ["clear", "hazy"])


@pytest.mark.parametrize(
    ("folders", "names", "said"),
    [
        (("im1", "im2"), ("0001", "0002", "0010"), True),
        (("s1", "s2"), ("roi_a", "roi_b"), True),
        (("im1", "im2"), ("0", "1", "2"), False),
        (("s1", "s2"), ("frame_10", "frame_20", "frame_30"), False),
        (("im1", "im2", "im3"), ("a", "b"), False),
        (("part0", "part1"), ("a", "b"), False),
        (("video_0", "video_1"), ("a", "b"), False),
        (("fold1", "fold2"), ("a", "b"), False),
    ],
)
def test_two_numbered_folders_of_the_same_names_have_a_line_that_says_when_to_join(tmp_path, folders, names, said):
    _write(tmp_path / "data", [f"{folder}/{name}.h5" for folder in folders for name in names])
    with closing(catalog_of(tmp_path, *_files(tmp_path / "data"))) as found:
        lines = [line for line in found.left_out if "nothing is to be done if these are others" in line]
    assert bool(lines) is said
    if said:
        run_command_in(lines[0], tmp_path / "new")
        with closing(catalog_of(tmp_path / "new/joined")) as joined:
            (schema,) = schemas_in("".join(joined.left_out))
        with closing(declared_catalog(tmp_path / "new/joined", schema)) as joined:
            assert (joined.video_count, [field.name for field in joined.fields]) == (len(names), list(folders))
