"""A transform's random numbers follow from seed, epoch and key alone; what it raises or returns is checked."""

from __future__ import annotations

import numpy as np
import pytest

from loader_service.errors import SourceError
from loader_service.user_code.transform import Transform


def draw(sample, rng):
    return {"drawn": rng.integers(0, 2**63, 8), **sample}


def failing(sample, rng):
    return {"x": sample["missing"]}


def as_tuple(sample, rng):
    return tuple(sample.values())


def nested(sample, rng):
    return {"a": {"b": np.float32(1)}}


def leaving(sample, rng):
    raise SystemExit("goodbye")


def one_argument(sample):
    return sample


class Callable:
    def __call__(self, sample, rng):
        return sample


INSTANCE = Callable()


def transform(name):
    return Transform(f"{__name__}:{name}")


def drawn(seed, epoch, key):
    return transform("draw").apply({}, seed, epoch, key)["drawn"].tolist()


def test_random_numbers_repeat_for_the_same_seed_epoch_and_key():
    assert drawn(3, 2, 10**12) == drawn(3, 2, 10**12)


def test_random_numbers_differ_between_seeds_epochs_and_keys():
    all_of_them = {tuple(drawn(*each)) for each in [(s, e, k) for s in (0, 1) for e in (0, 1) for k in range(50)]}
    assert len(all_of_them) == 2 * 2 * 50


def test_random_numbers_do_not_depend_on_what_was_drawn_before():
    one = transform("draw")
    first = one.apply({}, 0, 0, 7)["drawn"]
    one.apply({}, 0, 0, 8)
    np.random.seed(0)  # noqa: NPY002 - what must not matter
    np.testing.assert_array_equal(one.apply({}, 0, 0, 7)["drawn"], first)


def test_what_it_raises_names_the_transform_the_error_and_the_line():
    with pytest.raises(SourceError) as caught:
        transform("failing").apply({}, 0, 0, 0)
    line, text = failing.__code__.co_firstlineno + 1, 'return {"x": sample["missing"]}'
    assert str(caught.value) == f"transform '{__name__}:failing' raised KeyError: 'missing' ({__file__}:{line}: {text})"


def test_an_attempt_to_exit_is_an_error_like_any_other():
    with pytest.raises(SourceError, match="raised SystemExit: goodbye"):
        transform("leaving").apply({}, 0, 0, 0)


def test_what_is_no_dict_is_refused():
    with pytest.raises(SourceError, match="as_tuple' returned a tuple; return a dict of arrays"):
        transform("as_tuple").apply({"x": 1}, 0, 0, 0)


def test_dicts_in_what_it_returns_are_flattened():
    assert list(transform("nested").apply({}, 0, 0, 0)) == ["a/b"]


def test_any_callable_of_two_arguments_will_do():
    assert transform("INSTANCE").apply({"x": 1}, 0, 0, 0)["x"] == 1


def test_a_function_of_other_arguments_is_refused_when_it_is_loaded():
    with pytest.raises(SourceError, match=r"is called as f\(sample, rng\): too many positional arguments; let it take"):
        transform("one_argument")
    with pytest.raises(SourceError, match="is no function; name one that takes"):
        transform("__name__")
