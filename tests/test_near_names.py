"""A misspelt option is answered with the name that was meant, in one way for all that users write."""

from __future__ import annotations

import inspect
import pickle

import pytest

from loader_client import Clip, Image
from loader_client.stream_options import StreamChoice


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Image(siz=224), "'siz' of Image; did you mean 'size'"),
        (lambda: Image(8, colour="rgb"), "'colour' of Image; did you mean 'colors'"),
        (lambda: Image(zzz=1), "'zzz' of Image; it takes size, crop, "),
        (lambda: Clip(16, strides=2), "'strides' of Clip; did you mean 'stride'"),
        (lambda: Clip(frame=16), "'frame' of Clip; did you mean 'frames'"),
        (lambda: StreamChoice(4, None, None, siz=224), r"'siz' of dataset .*; did you mean 'image=Image\(size=…\)'"),
        (lambda: StreamChoice(4, None, None, sampeling="every"), r"did you mean 'clip=Clip\(sampling=…\)'"),
        (lambda: StreamChoice(4, None, None, shufle=True), "did you mean 'shuffle'"),
    ],
)  # fmt: skip
def test_the_nearest_name_is_told(make, said):
    with pytest.raises(TypeError, match=said):
        make()


def test_what_is_right_is_as_before():
    assert Clip(16, stride=2) == Clip(frames=16, stride=2) == pickle.loads(pickle.dumps(Clip(16, 2)))
    assert list(inspect.signature(Image).parameters)[:2] == ["size", "crop"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'frames'"):
        Clip()
