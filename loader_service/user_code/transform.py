"""A user's own function over samples, with random numbers that repeat; knows no slot and no stream."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from loader_service.errors import SourceError
from loader_service.plan.randomness import Purpose, draws
from loader_service.user_code.loading import blamed, load
from loader_service.user_code.user_samples import Sample, flatten


class Transform:
    """Calls ``f(sample: dict, rng: numpy.random.Generator) -> dict`` for each sample.

    Parameters
    ----------
    reference
        ``package.module:function``.

    Attributes
    ----------
    seconds
        That its calls took, altogether.

    Raises
    ------
    SourceError
        When there is no such function.
    """

    def __init__(self, reference: str) -> None:
        self.seconds = 0.0
        self._reference = reference
        self._function = load(reference)
        if not callable(self._function):
            raise SourceError(f"transform {reference!r} is no function; name one that takes (sample, rng)")
        _check_takes_two(self._function, reference)

    def apply(self, sample: dict[str, Any], seed: int, epoch: int, key: int) -> Sample:
        """Return what the function makes of a sample.

        Parameters
        ----------
        sample
            Its fields, which the function may change in place.
        seed, epoch, key
            What the function's random numbers follow from, and nothing else does; `key` tells samples apart.

        Raises
        ------
        SourceError
            When the function raises, or returns what is no dict of arrays.
        """
        what = f"transform {self._reference!r}"
        word = draws(seed, epoch, np.array([key], np.int64), Purpose.TRANSFORM)
        began = time.monotonic()
        try:
            with blamed(what):
                made = self._function(sample, np.random.Generator(np.random.Philox(key=int(word[0]))))
        finally:
            self.seconds += time.monotonic() - began
        if not isinstance(made, dict):
            raise SourceError(f"{what} returned a {type(made).__name__}; return a dict of arrays, as it was given one")
        return flatten(made, f"what {what} returned")


def _check_takes_two(function: Callable[..., Any], reference: str) -> None:
    try:
        inspect.signature(function).bind({}, None)
    except TypeError as error:
        raise SourceError(f"transform {reference!r} is called as f(sample, rng): {error}; let it take both") from error
    except ValueError:
        return  # some functions written in C tell nothing of what they take
