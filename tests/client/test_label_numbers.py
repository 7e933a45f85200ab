"""The numbers of labels in batches: equal in all services that were told the same, and never others in silence."""

from __future__ import annotations

import json
import logging
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import CatalogChanged, CatalogError, Clip, ConfigError
from loader_client.class_numbers import ClassWatch, difference
from loader_service.protocol.messages import FieldClasses
from tests.support.services import Service, command_line, new_endpoint, running_service
from tests.support.videos import make_videos, write_videos


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the services of earlier tests."""
    monkeypatch.setattr("loader_client.connection.WATCH", ClassWatch())


_CLIP = Clip(frames=1, sampling="start")


def write(folder: Path, split: str, labels: dict[str, Any], *, inside: bool = True) -> Path:
    """Write one file of videos with these labels, which are in the file itself or not."""
    (folder / split).mkdir(exist_ok=True)
    images = make_videos([1], seed=len(labels))["video0"]
    write_videos(folder / split / "a.h5", "group_vlen", dict.fromkeys(labels, images), labels if inside else None)
    return folder / split / "a.h5"


def write_text(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def labels_of(connection: loader_client.Connection, field: str = "label") -> dict[str, Any]:
    """Return what the batches of an epoch say, by video."""
    batches = list(connection.batches(1, clip=_CLIP, fields=("video", field), drop_remainder=False))
    return {batch["video"][0].decode(): batch[field][0] for batch in batches}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command_line(*arguments), check=False, capture_output=True, text=True, timeout=300)


def restarted(service: Service, *files: object, **options: Any) -> Any:
    """Kill a service, and start another at its endpoint."""
    service.kill()
    return running_service(*files, endpoint=service.endpoint, **options)


def test_one_csv_gives_a_class_one_number_in_training_and_validation(tmp_path):
    train = write(tmp_path, "train", {"film0": "", "film1": "", "film2": ""}, inside=False)
    val = write(tmp_path, "val", {"v0": "", "v1": ""}, inside=False)
    rows = write_text(tmp_path / "l.csv", "video,label", "film0,ant", "film1,bee", "film2,cat", "v0,bee", "v1,cat")
    with (
        running_service(train, labels=rows) as first,
        running_service(val, labels=rows) as second,
        loader_client.connect(first.endpoint) as training,
        loader_client.connect(second.endpoint) as validation,
    ):
        assert labels_of(training) == {"film0": 0, "film1": 1, "film2": 2}
        assert labels_of(validation) == {"v0": 1, "v1": 2}
        assert training.catalog.classes == validation.catalog.classes == ("ant", "bee", "cat")
        (label,) = [field for field in validation.catalog.fields if field.name == "label"]
        assert label.classes == ("ant", "bee", "cat")


def test_numbers_reach_batches_with_their_values_and_types(tmp_path):
    names = [f"v{number}" for number in range(12)]
    path = write(tmp_path, "all", dict.fromkeys(names, ""), inside=False)
    rows = [f"{name},{number},{number / 2 - 1.5},{'mf'[number % 2]}" for number, name in enumerate(names)]
    table = write_text(tmp_path / "l.csv", "id,target,score,sex", *rows)
    with (
        running_service(path, labels=f"{table}:video=id,label=target") as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        options = {"clip": _CLIP, "fields": ("label", "score", "sex"), "shuffle": False}
        (batch,) = connection.batches(12, **options)
        assert [batch[name].dtype for name in ("label", "score", "sex")] == [np.int64, np.float32, np.int64]
        assert [batch[name].shape for name in ("label", "score", "sex")] == [(12,)] * 3
        assert sorted(batch["label"]) == list(range(12))
        assert (batch["score"] == batch["label"] / 2 - 1.5).all()
        assert (batch["sex"] == 1 - batch["label"] % 2).all()  # f is 0, m is 1


@pytest.mark.tensorflow
def test_targets_of_a_private_service_are_float32_tensors(tf, tmp_path):
    path = write(tmp_path, "all", {"a": "", "b": "", "c": ""}, inside=False)
    table = write_text(tmp_path / "l.csv", "video,label", "a,-1.5", "b,0.9", "c,10")
    dataset = loader_client.dataset(
        path, workers=1, service={"labels": table}, batch_size=3, clip=_CLIP, fields=("video", "label"), shuffle=False
    )
    assert dataset.element_spec[1] == tf.TensorSpec((3,), tf.float32)
    (batch,) = list(dataset)
    assert dict(zip(batch[0].numpy(), batch[1].numpy(), strict=True)) == {
        b"a": np.float32(-1.5), b"b": np.float32(0.9), b"c": np.float32(10),
    }  # fmt: skip


def test_private_services_take_labels_and_classes_as_the_command_line_does(tmp_path):
    path = write(tmp_path, "all", {"a": "bee", "b": "ant"})
    classes = write_text(tmp_path / "c.txt", "wasp", "bee", "ant")
    table = write_text(tmp_path / "l.csv", "id,kind,sex", "a,ant,m", "b,wasp,f")
    sexes = write_text(tmp_path / "s.txt", "m", "f")
    with loader_client.connect(path, workers=1, service={"classes": classes}) as connection:
        assert labels_of(connection) == {"a": 1, "b": 2}
    options = {"labels": f"{table}:video=id,label=kind", "classes": [classes, f"sex={sexes}"]}
    with loader_client.connect(path, workers=1, service=options) as connection:
        assert (labels_of(connection), labels_of(connection, "sex")) == ({"a": 2, "b": 0}, {"a": 0, "b": 1})
    write_text(classes, "bee")
    with pytest.raises(CatalogError, match=r"video 'b' in '.*all/a\.h5': the class 'ant' is not listed in '.*c\.txt'"):
        loader_client.connect(path, workers=1, service={"classes": classes})
    with pytest.raises(ConfigError, match=r"l\.csv', row 1: there is no column 'video'"):
        loader_client.connect(path, workers=1, service={"labels": f"{table}:label=kind"})
    with loader_client.connect(path, workers=1, service={"label": "{folder}", "labels": None}) as connection:
        assert connection.catalog.classes == ("all",)


def test_a_service_that_comes_back_with_other_class_numbers_ends_the_training(tmp_path):
    path = write(tmp_path, "all", {"a": "ant", "b": "bee"})
    before, after = (write_text(tmp_path / f"{name}.txt", *lines) for name, lines in
                     (("before", ("ant", "bee")), ("after", ("bee", "ant", "cat"))))  # fmt: skip
    with running_service(path, classes=before) as service, loader_client.connect(service.endpoint) as connection:
        batches = connection.batches(1, clip=_CLIP, epochs=None)
        next(batches)
        with restarted(service, path, classes=after):
            said = r"another catalog: classes of 'label': 'ant' 0 → 1, 'bee' 1 → 0, 'cat' none → 2; training"
            with pytest.raises(CatalogChanged, match=said):
                list(batches)


def test_a_service_that_comes_back_with_an_edited_csv_ends_the_training(tmp_path):
    path = write(tmp_path, "all", {"a": "", "b": ""}, inside=False)
    table = write_text(tmp_path / "l.csv", "video,label", "a,1", "b,2")
    with running_service(path, labels=table) as service, loader_client.connect(service.endpoint) as connection:
        batches = connection.batches(1, clip=_CLIP, epochs=None)
        next(batches)
        write_text(table, "video,label", "a,1", "b,3")
        with restarted(service, path, labels=table):
            with pytest.raises(CatalogChanged, match="same counts, modified files or labels"):
                list(batches)
            with loader_client.connect(service.endpoint) as again:
                assert labels_of(again) == {"a": 1, "b": 3}


def test_services_that_number_a_class_differently_are_no_secret(tmp_path, caplog):
    train = write(tmp_path, "train", {"film0": "ant", "film1": "bee"})
    val = write(tmp_path, "val", {"v0": "bee", "v1": "bee"})
    with (
        running_service(train) as first,
        running_service(val) as second,
        loader_client.connect(first.endpoint) as training,
        loader_client.connect(second.endpoint) as validation,
        caplog.at_level(logging.WARNING, "loader_client"),
    ):
        assert "WARNING the classes of 'label' are numbered as they occur in these files" in first.log
        assert "INFO 2 classes of 'label': 0 'ant', 1 'bee'" in first.log
        assert "--classes classes.txt" in first.log
        assert (labels_of(training), labels_of(training)) == ({"film0": 0, "film1": 1},) * 2
        assert not caplog.messages
        assert labels_of(validation) == {"v0": 0, "v1": 0}
    (said,) = caplog.messages
    assert f"the class 'bee' of the field 'label' is 1 at {first.endpoint} and 0 at {second.endpoint}" in said
    assert "give both services the same --classes FILE" in said


def test_a_written_list_gives_both_the_same_numbers(tmp_path, caplog):
    train = write(tmp_path, "train", {"film0": "ant", "film1": "bee"})
    val = write(tmp_path, "val", {"v0": "bee", "v1": "bee"})
    classes = tmp_path / "classes.txt"
    assert run("inspect", tmp_path / "*/*.h5", "--split", "all", "--classes", classes).returncode == 0
    assert classes.read_text() == "ant\nbee\n"
    with (
        running_service(train, classes=classes) as first,
        running_service(val, classes=classes) as second,
        loader_client.connect(first.endpoint) as training,
        loader_client.connect(second.endpoint) as validation,
    ):
        assert (labels_of(training), labels_of(validation)) == ({"film0": 0, "film1": 1}, {"v0": 1, "v1": 1})
        assert "WARNING" not in first.log + second.log
    assert not caplog.messages


def test_catalog_and_inspect_show_which_number_is_which_class(tmp_path):
    path = write(tmp_path, "train", {"film0": "ant", "film1": "bee"})
    line = "2 classes of 'label': 0 'ant', 1 'bee'"
    assert line in run("inspect", path).stdout.splitlines()
    fields = json.loads(run("inspect", path, "--json").stdout)["fields"]
    assert [(field["name"], field["classes"]) for field in fields] == [("frames", []), ("label", ["ant", "bee"])]
    with running_service(path) as service:
        assert line in run("catalog", service.endpoint).stdout.splitlines()
        summary = json.loads(run("catalog", "--json", service.endpoint).stdout)
    assert summary["classes"] == ["ant", "bee"]
    assert [(field["name"], field["classes"]) for field in summary["fields"]] == [
        ("frames", []),
        ("label", ["ant", "bee"]),
    ]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            {"a": 1, "b": "cat"},
            r"found 'cat' among numbers: video 'b' in '{path}'; a number is 1: video 'a' in '{path}'",
        ),
        ({"a": "dog", "b": "cat"}, "video 'b' in '{path}': the class 'cat' is not listed in '{classes}'"),
    ],
)
def test_a_wrong_label_is_one_line_that_names_file_and_video(tmp_path, labels, said):
    path = write(tmp_path, "all", labels)
    classes = write_text(tmp_path / "c.txt", "dog")
    more = ["--classes", classes] if "classes" in said else []
    ended = run("start", path, "--endpoint", new_endpoint(), *more)
    assert ended.returncode == 1
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("loader-service: ")]
    assert said.format(path=path, classes=classes) in line


# ---- parts


def of(*names: str, field: str = "label") -> FieldClasses:
    return FieldClasses(field, len(names), names)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((of("a", "b"),), (of("a", "b"),), ""),
        ((of("a"),), (of("b"),), "classes of 'label': 'a' 0 → none, 'b' none → 0"),
        ((of("a"),), (), "'label' has no classes any more"),
        ((), (of("a"),), "'label' has classes now"),
        ((of(*"abcdefg"),), (of(*"bcdefga"),), "'a' 0 → 6, 'b' 1 → 0, 'c' 2 → 1, 'd' 3 → 2, 'e' 4 → 3 and 2 more"),
        ((FieldClasses("label", 3, ("a",)),), (FieldClasses("label", 4, ("a",)),), "classes of 'label': 3 → 4"),
        (
            (of("a"), of("m", field="sex")),
            (of("a"), of("f", "m", field="sex")),
            "classes of 'sex': 'm' 0 → 1, 'f' none",
        ),
    ],
)
def test_classes_that_differ_are_put_into_words(before, after, said):
    assert said in difference(before, after)
    assert bool(said) == bool(difference(before, after))


def test_a_difference_is_said_once_and_only_of_fields_that_are_used(caplog):
    watch = ClassWatch()
    watch.opened("ipc:///a", [of("x", "y")], ["label"])
    watch.opened("ipc:///b", [of("y")], ["frames"])
    watch.opened("ipc:///b", [of("y", field="other")], ["other"])
    watch.opened("ipc:///c", [of("x", "y", "z")], ["label"])
    assert not caplog.messages
    for _ in range(3):
        watch.opened("ipc:///b", [of("y")], ["label"])
        watch.opened("ipc:///a", [of("x", "y")], ["label"])
    (said,) = caplog.messages
    assert said.startswith("the class 'y' of the field 'label' is 1 at ipc:///c and 0 at ipc:///b: ")
