"""A misspelt option is answered with the name that was meant, in one way for all that users write."""

from __future__ import annotations

import inspect
import pickle

import pytest

import loader_client
from loader_client import Clip, Frame, Image, Patience, Window
from loader_client.stream_options import StreamChoice


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Image(siz=224), "'siz' of Image; did you mean 'size'"),
        (lambda: Image(8, colour="rgb"), "'colour' of Image; did you mean 'colors'"),
        (lambda: Image(zzz=1), "'zzz' of Image; it takes size, crop, "),
        (lambda: Clip(16, strides=2), "'strides' of Clip; did you mean 'stride'"),
        (lambda: Clip(frame=16), "'frame' of Clip; did you mean 'frames'"),
        (lambda: Window(feild="mask", size=(8, 8)), "'feild' of Window; did you mean 'field'"),
        (lambda: Patience(step_timeout=8), "'step_timeout' of Patience; did you mean 'step_timeout_s'"),
        (lambda: Frame(stride=2), "'stride' of Frame; it takes none"),
        (lambda: loader_client.connect("a.h5", wrkers=2), "of connect; did you mean 'workers'. It takes source,"),
        (lambda: loader_client.connect("a.h5", labels="a.csv"), r"'labels' of connect; .* give service={'labels': …}"),
        (lambda: loader_client.connect("a.h5", batch_size=2), r"give connect\(…\)\.batches\(batch_size=…\), or"),
        (lambda: loader_client.dataset("a.h5", shufle=True), "did you mean 'shuffle'"),
        (lambda: loader_client.dataset("a.h5", 16), "source alone without a name; .* as batch_size=16, .*: got 16"),
        (lambda: loader_client.dataset("a.h5", wrkers=2, batch_size=2), "did you mean 'workers'"),
        (lambda: loader_client.Connection.batches(None, shufle=True), "did you mean 'shuffle'"),
        (lambda: loader_client.show({}, sample=2), "'sample' of show; did you mean 'samples'"),
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
    assert list(inspect.signature(loader_client.connect).parameters)[:2] == ["source", "workers"]
    assert list(inspect.signature(Image).parameters)[:2] == ["size", "crop"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'frames'"):
        Clip()
