"""Users' classes, functions and generators as sources: how they are made and read, and what is learnt of them."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from loader_service.errors import SourceError
from loader_service.lifeline import arguments_for
from loader_service.protocol.fields import CatalogField
from loader_service.source_facts import Examined, SourceFacts, SourceOptions
from loader_service.user_code.python_source import GeneratorSource, MapSource, open_source
from loader_service.user_code.source_process import examine


class Squares:
    def __init__(self, count, *, scale=1, seed=None, kind="int64"):
        self.count = count
        self.given = {"scale": scale, "seed": seed, "kind": kind}

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if number == 5:
            raise RuntimeError("no fives")
        return {"square": np.int64(number**2)}


def make_squares(count=3):
    """Make a source, as a factory function does."""
    return [(np.float32(number), number**2) for number in range(count)]


class Batches:
    """Items that are batches, the last one of which is shorter."""

    def __init__(self, rows=10):
        self.rows = rows

    def __len__(self):
        return math.ceil(self.rows / 4)

    def __getitem__(self, number):
        x = np.arange(4 * number, min(self.rows, 4 * number + 4), dtype=np.float32)
        return np.stack([x, x], axis=1), x


class Odd:
    """A source whose last item is of another form in one way or another."""

    def __init__(self, last):
        self.last = last

    def __len__(self):
        return 4

    def __getitem__(self, number):
        if number < 3:
            return {"x": np.zeros((4, 2), np.float32)}
        match self.last:
            case "longer":
                return {"x": np.zeros((5, 2), np.float32)}
            case "wider":
                return {"x": np.zeros((4, 3), np.float32)}
            case "dtype":
                return {"x": np.zeros((4, 2))}
            case "missing":
                return {"y": np.zeros((4, 2), np.float32)}
            case _:
                raise ValueError("bad last item")


class Texts:
    def __init__(self, longest=10):
        self.longest = longest

    def __len__(self):
        return 40

    def __getitem__(self, number):
        return {"text": "ü" * (self.longest if number == 33 else 1)}


class Scenes:
    """A generator class that notes what it was made with."""

    def __init__(self, seed=-1, worker=-1, limit=3):
        self.made_with = (seed, worker, limit)

    def generate(self) -> Iterator[dict[str, Any]]:
        for number in range(self.made_with[2]):
            yield {"made_with": np.array(self.made_with), "number": number, "drawn": random.random()}

    def generate_with(self, worker, seed=None) -> Iterator[dict[str, Any]]:
        yield {"worker": worker, "seed": seed}

    def nothing(self):
        return iter(())

    def fails_second(self):
        yield {"number": 0}
        raise OSError("camera gone")


def scenes(count=2):
    for number in range(count):
        yield np.random.uniform(size=2), number  # noqa: NPY002 - as users draw


def iterator_factory():
    return iter([{"number": 1}, {"number": 2}])


class Iterable:
    def __init__(self, worker):
        self.worker = worker

    def __iter__(self):
        return iter([{"worker": self.worker}])


class DrawnOnce:
    """A map source that draws its data when it is made."""

    def __init__(self):
        self.data = np.random.uniform(size=4)  # noqa: NPY002 - as users draw
        self.order = random.sample(range(100), 4)

    def __len__(self):
        return 4

    def __getitem__(self, number):
        return self.data[number], self.order[number]


class NumBatches:
    num_batches = 2

    def __getitem__(self, number):
        return {"number": number}


class Named:
    def __init__(self, field):
        self.field = field

    def __len__(self):
        return 1

    def __getitem__(self, number):
        return {self.field: 1}


class Bare:
    def generate_data(self):
        yield 1


class Negative:
    def __len__(self):
        return -1  # noqa: PLE0303 - what is to be refused

    def __getitem__(self, number):
        return 0


INSTANCE = Squares(4)


def opened(name: str, worker: int = 1, seed: int = 0, **arguments: Any) -> MapSource | GeneratorSource:
    return open_source(SourceOptions(f"{__name__}:{name}", arguments, seed), worker)


def examined(name: str, **arguments: Any):
    return examine(SourceOptions(f"{__name__}:{name}", arguments))


# ---- map sources


def test_a_class_is_made_with_the_arguments_and_read_by_number():
    source = opened("Squares", count=9, scale=0.5)
    assert isinstance(source, MapSource)
    assert len(source) == 9
    assert source.read(8)["square"] == 64
    assert source._items.given == {"scale": 0.5, "seed": None, "kind": "int64"}  # no seed of the worker's own


def test_arguments_as_texts_are_literals_or_texts():
    texts = ("count=7", "scale=(1, 2.5, {'a': {3}})", "kind=float32")
    source = open_source(SourceOptions(f"{__name__}:Squares", texts), 1)
    assert len(source) == 7
    assert source._items.given == {"scale": (1, 2.5, {"a": {3}}), "seed": None, "kind": "float32"}


def test_a_factory_function_or_an_object_will_do():
    assert opened("make_squares", count=4).read(3)["1"] == 9
    assert len(opened("INSTANCE")) == 4
    with pytest.raises(SourceError, match="is an object, which takes no arguments; leave --source-arg out"):
        opened("INSTANCE", count=3)


def test_an_item_that_raises_is_named_with_its_line():
    with pytest.raises(
        SourceError, match=r"item 5 of source '.*:Squares' raised RuntimeError: no fives \(.*:\d+: raise .*\)"
    ):
        opened("Squares", count=9).read(5)


def test_a_length_in_batches_counts_where_there_is_no_other():
    source = opened("NumBatches")
    assert isinstance(source, MapSource)
    assert len(source) == 2


def test_what_a_map_source_draws_while_it_is_made_is_the_same_in_every_worker():
    one, other = (opened("DrawnOnce", worker=worker) for worker in (1, 2))
    assert [one.read(n)["0"] for n in range(4)] == [other.read(n)["0"] for n in range(4)]
    assert [one.read(n)["1"] for n in range(4)] == [other.read(n)["1"] for n in range(4)]
    assert opened("DrawnOnce", seed=1).read(0)["0"] != one.read(0)["0"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("Squares", {}, "missing a required argument: 'count'; the arguments are none; see --source-arg"),
        (
            "Squares",
            {"count": 1, "cuont": 2},
            "unexpected keyword argument 'cuont'; the arguments are count=1, cu",
        ),
        ("Squares", {"count": "many"}, "len\\(\\) of source '.*' raised TypeError: 'str' object"),
        ("Squares", {"count": 0}, "has 0 items; give it 1 to"),
        ("Squares", {"count": 2**60}, "has 1152921504606846976 items; give it 1 to"),
        ("Negative", {}, r"raised ValueError: __len__\(\) should return >= 0"),
        ("Bare", {}, "is a Bare without __len__ and __getitem__; name its generator, .*:Bare.generate_data"),
        ("Scenes.made_with", {}, "is no method; name one that yields items"),
        ("Scenes.nothing", {}, "ended without an item; let it yield at least one"),
        ("math", {}, "is a module without __len__ and __getitem__; give it those, or a method that yields items"),
        ("Named", {"field": "index"}, "has a field 'index', and that is what the service itself says"),
        (
            "Odd",
            {"last": "longer"},
            r"'x' is float32 of shape \(4, 2\) in the first item and .* \(5, 2\) in item 3",
        ),
        ("Odd", {"last": "wider"}, r"'x' is float32 of shape \(4, 2\) in the first item and .* \(4, 3\) in item 3"),
        ("Odd", {"last": "dtype"}, r"'x' is float32 of shape \(4, 2\) in the first item and float64 of shape"),
        ("Odd", {"last": "missing"}, r"'x' is float32 of shape \(4, 2\) in the first item and missing in item 3"),
    ],
)
def test_what_cannot_be_a_source_is_refused_with_what_to_change(name, arguments, said):
    with pytest.raises(SourceError, match=said):
        examined(name, **arguments)


# ---- what is learnt of a source


def test_length_and_fields_are_learnt():
    facts = examined("make_squares", count=5)
    assert (facts.kind, facts.length, facts.left_out) == ("map", 5, 0)
    assert facts.catalog_fields == (
        CatalogField("0", "array", "float32", ()),
        CatalogField("1", "array", "int64", ()),
    )
    assert examined("Scenes.generate").length == 0
    assert examined("Scenes.generate").kind == "generator"


def test_a_shorter_last_batch_is_left_out():
    facts = examined("Batches", rows=10)
    assert (facts.length, facts.left_out) == (2, 1)
    assert [field[2] for field in facts.fields] == [(4, 2), (4,)]
    assert (examined("Batches", rows=12).length, examined("Batches", rows=12).left_out) == (3, 0)
    assert (examined("Batches", rows=3).length, examined("Batches", rows=3).left_out) == (1, 0)


def test_a_bad_item_does_not_keep_a_source_from_being_used():
    assert examined("Odd", last="raises").length == 4
    assert examined("Squares", count=6).fields == (("square", "int64", ()),)  # the last one raises


def test_texts_get_room_for_twice_the_longest_and_64_bytes_at_least():
    assert examined("Texts", longest=10).fields == (("text", "S64", ()),)
    assert examined("Texts", longest=100).fields == (("text", "S400", ()),)


def test_the_version_changes_with_the_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "e2_versioned.py"
    file.write_text("class Items(list):\n    def __init__(self): super().__init__([1, 2])\n")
    first = examine(SourceOptions("e2_versioned:Items")).version
    os.utime(file, ns=(1, 1))
    assert examine(SourceOptions("e2_versioned:Items")).version != first
    assert str(file) in first


def asked(**options: Any) -> tuple[dict[str, Any], str]:
    """Return what the process that looks at sources answers, and what it wrote to the standard error."""
    told = arguments_for(Examined(**{"source": None, "transform": None, **options}))
    command = [sys.executable, "-m", "loader_service.user_code.source_process", *told]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    (line,) = done.stdout.splitlines()
    return json.loads(line), done.stderr


def test_the_process_answers_with_facts_or_an_error_whatever_the_code_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "loud.py").write_text(
        "import os, threading, time\n"
        "print('imported')\n"
        "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "def items(exits=False):\n"
        "    os.system('echo made')\n"
        "    if exits: raise SystemExit('bye')\n"
        "    return [{'a': 1.5}]\n"
        "def f(sample): pass\n"
    )
    source = {"reference": "loud:items", "arguments": [], "seed": 0}
    answer, said = asked(source=source)
    assert SourceFacts.from_json(answer).fields == (("a", "float64", ()),)
    assert {"imported", "made"} <= set(said.split())
    source["arguments"] = ["exits=True"]
    assert "making source 'loud:items' raised SystemExit: bye" in asked(source=source)[0]["error"]
    assert "f(sample, rng): too many positional arguments" in asked(transform="loud:f")[0]["error"]


# ---- generators


def test_a_generator_gives_one_item_after_the_other_and_begins_anew():
    source = opened("Scenes.generate")
    assert isinstance(source, GeneratorSource)
    assert [int(source.read(99)["number"]) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_generators_may_be_functions_iterables_or_factories_of_iterators():
    assert [int(each["1"]) for each in map(opened("scenes", count=2).read, range(5))] == [0, 1, 0, 1, 0]
    assert [int(each["number"]) for each in map(opened("iterator_factory").read, range(5))] == [1, 2, 1, 2, 1]
    source = opened("Iterable", worker=4)
    assert isinstance(source, GeneratorSource)
    assert [int(source.read()["worker"]) for _ in range(2)] == [4, 4]


def test_each_worker_has_a_seed_of_its_own_and_is_told_its_number_where_it_asks():
    made_with = {worker: opened("Scenes.generate", worker=worker).read()["made_with"].tolist() for worker in (1, 2, 3)}
    assert [each[1:] for each in made_with.values()] == [[1, 3], [2, 3], [3, 3]]
    assert len({each[0] for each in made_with.values()}) == 3
    assert opened("Scenes.generate", worker=2).read()["made_with"].tolist() == made_with[2]
    assert opened("Scenes.generate", worker=2, seed=1).read()["made_with"].tolist() != made_with[2]
    asked_in_the_method = opened("Scenes.generate_with", worker=3).read()
    assert [asked_in_the_method["seed"], asked_in_the_method["worker"]] == made_with[3][:2]


def test_an_argument_of_the_users_goes_before_the_workers_seed():
    arguments = {"seed": 77, "worker": 88}
    source = open_source(SourceOptions(f"{__name__}:Scenes.generate", arguments), 2)
    assert source.read()["made_with"].tolist() == [77, 88, 3]


def test_the_global_generators_of_two_workers_differ_and_repeat():
    def drawn(worker):
        return opened("scenes", worker=worker).read()["0"].tolist(), random.random()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_generator_that_raises_is_begun_anew():
    source = opened("Scenes.fails_second")
    for _ in range(3):
        assert source.read()["number"] == 0
        with pytest.raises(SourceError, match=r"fails_second' raised OSError: camera gone \(.*\.py:\d+: raise .*\)"):
            source.read()
