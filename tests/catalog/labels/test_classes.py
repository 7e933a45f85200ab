"""Classes: how names get their numbers, from files, folders or a list; and what is refused."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from loader_service.advice import label_advice
from loader_service.catalog.labels.class_lists import class_advice, class_lines, write_class_lists
from loader_service.errors import CatalogError, ConfigError
from tests.catalog.labels.csv_files import with_csv
from tests.support.catalogs import catalog_of
from tests.support.episodes import write_table
from tests.support.videos import make_videos, write_videos

THREE = make_videos([1, 1, 1])


def with_labels(folder, *labels, name="a.h5", **options):
    """Return the catalog of one file whose videos have these labels."""
    videos = make_videos([1] * len(labels))
    write_videos(folder / name, "group_vlen", videos, dict(zip(videos, labels, strict=True)))
    return catalog_of(folder, folder / name, **options)


def listed(folder, content, name="classes.txt"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return (str(folder / name),)


def labels_of(catalog, field="label"):
    return catalog.values(field).tolist()


# ---- from the files


def test_texts_of_digits_are_numbers_in_files_too(tmp_path):
    catalog = with_labels(tmp_path, *map(str, range(12)))
    assert labels_of(catalog) == list(range(12))
    assert catalog.classes is None


def test_numbers_beyond_float32_are_refused_in_files_too(tmp_path):
    with pytest.raises(CatalogError, match=r"video 'video1' in .*a\.h5': expected a number that fits float32"):
        with_labels(tmp_path, 0.5, 1e300)


def test_texts_among_numbers_are_named_with_file_and_video(tmp_path):
    write_videos(tmp_path / "n.h5", "group_vlen", THREE, dict.fromkeys(THREE, 3))
    said = (
        r"found 'cat' among numbers: video 'video1' in '.*/t\.h5'; a number is 3: video 'video0' in '.*/n\.h5'; "
        "write all of them as numbers or all as texts, or list all of them as names, one a line, in a file for `start "
    )
    write_videos(tmp_path / "t.h5", "group_vlen", THREE, {"video0": 1, "video1": "cat", "video2": 2})
    with pytest.raises(CatalogError, match=said):
        catalog_of(tmp_path)
    names = catalog_of(tmp_path, classes=listed(tmp_path, "1\n2\n3\ncat\n"))
    assert labels_of(names) == [2, 2, 2, 0, 3, 1]


def test_what_is_no_finite_number_is_a_name_where_all_are_listed(tmp_path):
    with pytest.raises(CatalogError, match="where labels are names, list all of them, one a line"):
        with_labels(tmp_path, "1.5", "nan", "3")
    assert labels_of(with_labels(tmp_path, "1.5", "nan", "3", classes=listed(tmp_path, "3\nnan\n1.5\n"))) == [2, 1, 0]


def test_an_empty_text_is_no_class(tmp_path):
    with pytest.raises(CatalogError, match=r"a\.h5': label, attribute 'label' of 'video1': .* an empty text; correct"):
        with_labels(tmp_path, "cat", " ")


def test_classes_that_files_have_come_with_advice_and_others_without(tmp_path):
    found = with_labels(tmp_path, "bee", "ant")
    assert class_lines((field.name, field.classes) for field in found.fields) == [
        "2 classes of 'label': 0 'ant', 1 'bee'"
    ]
    assert "--classes classes.txt" in class_advice(found)
    assert class_advice(with_labels(tmp_path, "bee", "ant", classes=listed(tmp_path, "ant\nbee\n"))) is None
    assert class_advice(with_labels(tmp_path, 3, 4)) is None


def test_images_without_anything_beside_them_come_with_what_takes_labels_of_a_csv(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([1, 1], prefix="ISIC_"))
    advice = label_advice(catalog_of(tmp_path))
    assert "a row for each name such as 'ISIC_0', give --labels FILE.csv:video=COLUMN,label=COLUMN" in advice
    (tmp_path / "labels.csv").write_text("id,target\nISIC_0,3\nISIC_1,4\n")
    labelled = catalog_of(tmp_path, labels=f"{tmp_path / 'labels.csv'}:video=id,label=target")
    assert labels_of(labelled) == [3, 4]
    assert label_advice(labelled) is None
    with h5py.File(tmp_path / "a.h5", "a") as file:
        for number in range(2):
            file[f"ISIC_{number}/action"] = np.zeros((1, 7))
    assert label_advice(catalog_of(tmp_path)) is None


def test_more_texts_than_classes_may_be_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("loader_service.catalog.labels.encode.MOST_CLASSES", 2)
    with pytest.raises(
        CatalogError, match=r"video 'video0' in .* expected at most 2 classes, .* found 3 different texts"
    ):
        with_labels(tmp_path, "a", "b", "c")


# ---- from folders and groups


def test_a_folder_is_the_class_of_its_files(tmp_path):
    for split, folder in (("train", "cats"), ("train", "dogs"), ("val", "cats")):
        (tmp_path / split / folder).mkdir(parents=True)
        write_videos(tmp_path / split / folder / "a.h5", "group_vlen", make_videos([1, 1]), {"video0": 7})
    catalog = catalog_of(tmp_path, tmp_path / "*/*/*.h5", label="{folder}", split="all")
    assert (labels_of(catalog), catalog.classes) == ([0, 0, 1, 1, 0, 0], ("cats", "dogs"))


def test_folders_of_digits_are_class_numbers(tmp_path):
    for folder in ("10", "9"):
        (tmp_path / folder).mkdir()
        write_videos(tmp_path / folder / "a.h5", "file", make_videos([2]))
    catalog = catalog_of(tmp_path, tmp_path / "*/*.h5", label="{folder}")
    assert (labels_of(catalog), catalog.classes) == ([9, 10], None)


@pytest.mark.parametrize("layout", ["vlen", "group_vlen", "group_datasets"])
def test_a_group_is_the_class_of_its_videos(tmp_path, layout):
    videos = {f"{part}/{kind}/{name}": THREE[name] for part in "ab" for kind in ("dog", "cat") for name in THREE}
    write_videos(tmp_path / "a.h5", layout, videos)
    catalog = catalog_of(tmp_path, label="{group}")
    assert (labels_of(catalog), catalog.classes) == ([0] * 3 + [1] * 3 + [0] * 3 + [1] * 3, ("cat", "dog"))


def test_videos_of_the_root_group_have_no_group(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", THREE)
    with pytest.raises(ConfigError, match=r"'video0' in '.*a\.h5' lies in no group but the root.*'{folder}'"):
        catalog_of(tmp_path, label="{group}")


def test_folders_and_their_list_of_classes_go_together(tmp_path):
    (tmp_path / "cats").mkdir()
    write_videos(tmp_path / "cats" / "a.h5", "vlen", THREE)
    options = {"label": "{folder}", "classes": listed(tmp_path, "dogs\ncats\n")}
    assert labels_of(catalog_of(tmp_path, tmp_path / "cats/a.h5", **options)) == [1, 1, 1]


@pytest.mark.parametrize("pattern", ["{Folder}", "{video}", "a/{group}"])
def test_an_unknown_brace_is_refused(tmp_path, pattern):
    with pytest.raises(
        ConfigError, match=r"label='.*' is unknown; give '\{folder\}', '\{group\}', '\{none\}', a pattern or '@name'"
    ):
        catalog_of(tmp_path, label=pattern)


def test_a_folder_labels_no_rows_of_a_table(tmp_path):
    write_table(tmp_path / "a.h5", {"features": np.zeros((5, 3), np.float32)})
    with pytest.raises(CatalogError, match=r"--label '\{folder\}' says where labels of videos are.*a table of rows"):
        catalog_of(tmp_path, label="{folder}")


# ---- from a list


def test_a_line_of_the_list_is_a_class(tmp_path):
    classes = listed(tmp_path, b"\xef\xbb\xbfwasp\r\n bee \r\nant\r\n\r\n")
    catalog = with_labels(tmp_path, "bee", "ant", classes=classes)
    assert (labels_of(catalog), catalog.classes) == ([1, 2], ("wasp", "bee", "ant"))


def test_a_name_that_is_not_listed_is_refused_with_file_and_video(tmp_path):
    said = r"video 'video1' in '.*a\.h5': the class 'cat' is not listed in '.*classes\.txt'; add it there, or correct"
    with pytest.raises(CatalogError, match=said):
        with_labels(tmp_path, "bee", "cat", classes=listed(tmp_path, "bee\n"))


def test_a_csv_may_name_unlisted_classes_of_videos_that_are_not_here(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", THREE)
    (tmp_path / "labels.csv").write_text("video,label\nvideo0,bee\nvideo1,ant\nvideo2,bee\nother,cat\n")
    options = {"labels": str(tmp_path / "labels.csv"), "classes": listed(tmp_path, "bee\nant\n")}
    assert labels_of(catalog_of(tmp_path, **options)) == [0, 1, 0]
    (tmp_path / "labels.csv").write_text("video,label\nvideo0,bee\nvideo1,cat\nvideo2,bee\n")
    said = r"labels\.csv', row 3: video 'video1' in '.*a\.h5': the class 'cat' is not listed in '.*classes\.txt'"
    with pytest.raises(ConfigError, match=said):
        catalog_of(tmp_path, **options)


def test_a_list_gives_names_to_class_numbers(tmp_path):
    catalog = with_labels(tmp_path, 1, 0, 1, classes=listed(tmp_path, "ant\nbee\nwasp\n"))
    assert (labels_of(catalog), catalog.classes) == ([1, 0, 1], ("ant", "bee", "wasp"))
    with pytest.raises(CatalogError, match=r"'video1' in .*: the class number 3 is beyond the 3 that '.*' lists"):
        with_labels(tmp_path, 1, 3, classes=listed(tmp_path, "ant\nbee\nwasp\n"))
    with pytest.raises(
        CatalogError, match=r"'video1' in .*: expected a class that is listed in .*, got the number 0\.5"
    ):
        with_labels(tmp_path, 1.0, 0.5, classes=listed(tmp_path, "ant\nbee\nwasp\n"))


def test_numbers_that_a_list_names_are_names(tmp_path):
    options = {"classes": listed(tmp_path, "3d\n12\nnan\n007\n")}
    assert labels_of(with_labels(tmp_path, "12", "3d", "nan", "007", **options)) == [1, 0, 2, 3]
    with pytest.raises(CatalogError, match=r"'video1' in .*: the class '7' is not listed"):
        with_labels(tmp_path, "12", "7", **options)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it lists no class; give one name a line"),
        (b"\n\n", "it lists no class"),
        (b"a\n\nb\n", "line 2: expected a name, got an empty line; delete it"),
        (b"a\nb\na\n", "line 3: 'a' is in line 1 too; delete one"),
        ("Stra\u00dfe\n".encode("latin-1"), "byte 4 is no UTF-8; save it as UTF-8"),
    ],
)
def test_a_list_that_numbers_no_classes_is_refused(tmp_path, content, said):
    with pytest.raises(ConfigError, match=rf"--classes '.*classes\.txt'.*{said}"):
        with_labels(tmp_path, "a", classes=listed(tmp_path, content))


def test_a_list_that_is_not_there_or_given_twice_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"--classes '/no\.txt': cannot read it \(.*\); give a file with one class a"):
        with_labels(tmp_path, "a", classes=("/no.txt",))
    one = listed(tmp_path, "a\n")
    with pytest.raises(ConfigError, match="for the field 'label'; give one"):
        with_labels(tmp_path, "a", classes=one + one)


def test_a_list_for_labels_that_are_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="lists classes of the field 'kind', and there are no such labels"):
        with_labels(tmp_path, "a", classes=(f"kind={listed(tmp_path, 'a')[0]}",))
    write_videos(tmp_path / "b.h5", "group_vlen", THREE)
    with pytest.raises(ConfigError, match="the field 'label', and there are no such labels of videos; there are none"):
        catalog_of(tmp_path, tmp_path / "b.h5", classes=listed(tmp_path, "a"))


def test_further_columns_have_lists_of_their_own(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", THREE)
    (tmp_path / "l.csv").write_text("video,label,sex\nvideo0,1,m\nvideo1,2,f\nvideo2,3,m\n")
    options = {
        "labels": str(tmp_path / "l.csv"),
        "classes": (f"sex={listed(tmp_path, 'm|f'.replace('|', chr(10)))[0]}",),
    }
    catalog = catalog_of(tmp_path, **options)
    assert (labels_of(catalog), labels_of(catalog, "sex")) == ([1, 2, 3], [0, 1, 0])
    assert catalog.field("sex").classes == ("m", "f")


def test_another_list_makes_another_catalog(tmp_path):
    first = with_labels(tmp_path, "ant", "bee", classes=listed(tmp_path, "ant\nbee\n"))
    same = catalog_of(tmp_path, tmp_path / "a.h5", classes=listed(tmp_path, "ant\r\nbee", "other.txt"))
    second = catalog_of(tmp_path, tmp_path / "a.h5", classes=listed(tmp_path, "bee\nant\n"))
    assert (labels_of(first), labels_of(second)) == ([0, 1], [1, 0])
    assert first.fingerprint == same.fingerprint != second.fingerprint


# ---- written


def test_a_list_that_was_written_is_read_as_it_was(tmp_path):
    names = ("a b", "tennis, serve", "=x", "Stra\u00dfe")
    path = tmp_path / "c.txt"
    assert write_class_lists([str(path)], {"label": names}) == [f"wrote 4 classes of 'label' to {str(path)!r}"]
    assert with_labels(tmp_path, "=x", classes=(str(path),)).classes == names


def test_a_file_that_holds_something_else_is_left_as_it_is(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("all my work")
    with pytest.raises(ConfigError, match=r"thesis\.txt': it holds something else already, which stays; give another"):
        write_class_lists([str(path)], {"label": ("a",)})
    assert path.read_text() == "all my work"
    path.write_text("")
    for _ in range(2):
        write_class_lists([str(path)], {"label": ("a", "b")})
    assert path.read_text() == "a\nb\n"


@pytest.mark.parametrize(
    ("option", "classes", "said"),
    [
        ("c.txt", {}, "the field 'label' has no classes to write: no field has classes; leave --classes out"),
        (
            "c.txt",
            {"sex": ("f",)},
            "the field 'label' has no classes to write: those with classes are 'sex'; write FIELD",
        ),
        ("no/where.txt", {"label": ("f",)}, r"cannot write it \(No such file or directory\); give another place"),
        ("c.txt", {"label": ("two\nlines",)}, r"the class 'two\\nlines' cannot be one line of UTF-8"),
        ("c.txt", {"label": ("caf\udce9",)}, "cannot be one line of UTF-8"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path, monkeypatch, option, classes, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=said):
        write_class_lists([option], classes)
    assert not (tmp_path / "c.txt").exists()


def test_a_field_named_before_the_file_is_the_one_that_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    classes = {"label": ("x",), "sex": ("f", "m")}
    write_class_lists(["sex=s.txt"], classes)
    assert (tmp_path / "s.txt").read_text() == "f\nm\n"
    said = r"the field 'a' has no classes to write: those with classes are 'label', 'sex'; write FIELD=FILE, or './a="
    with pytest.raises(ConfigError, match=said):
        write_class_lists(["a=b.txt"], classes)
    for path in ("./a=b.txt", "a=b.txt"):
        write_class_lists([path], classes)
    assert (tmp_path / "a=b.txt").read_text() == "x\n"


def test_a_table_with_texts_as_labels_keeps_them_as_texts(tmp_path):
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["features"] = np.zeros((3, 2), np.float32)
        file["label"] = [b"cat", b"dog", b"cat"]
    field = catalog_of(tmp_path).field("label")
    assert (field.dtype, field.classes) == ("S3", ())


def test_a_name_that_no_message_can_hold_is_no_class(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", THREE)
    rows = "".join(f"video{number},{number},{'x' * 5000}{number}\n" for number in range(3))
    catalog = with_csv(tmp_path, f"video,label,caption\n{rows}")
    assert [field.name for field in catalog.fields] == ["frames", "label"]
    assert any("expected names of 4096 bytes at most, found one of 5001" in reason for reason in catalog.left_out)


def test_a_further_column_of_very_many_texts_is_classes_only_when_it_is_named(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", THREE)
    rows = "".join(f"video{number},{number},patient {number}\n" for number in range(1001))
    catalog = with_csv(tmp_path, f"video,label,patient\n{rows}")
    assert [field.name for field in catalog.fields] == ["frames", "label"]
    assert any("'patient' has 1001 different texts; where they are classes, say" in each for each in catalog.left_out)
    named = with_csv(tmp_path, f"video,label,patient\n{rows}", ":patient=patient")
    assert len(named.field("patient").classes) == 1001


def test_classes_of_all_fields_fit_one_message(tmp_path, monkeypatch):
    monkeypatch.setattr("loader_service.catalog.labels.label_fields.MOST_CLASS_BYTES", 4)
    write_videos(tmp_path / "a.h5", "vlen", THREE)
    (tmp_path / "l.csv").write_text("video,label,kind\nvideo0,aa,x\nvideo1,bb,y\nvideo2,cc,zz\n")
    with pytest.raises(ConfigError, match=r"at most 8 bytes of classes in all fields, found 6 in 'label', 4 in 'kind'"):
        catalog_of(tmp_path, labels=str(tmp_path / "l.csv"))
