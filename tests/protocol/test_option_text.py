"""Options are said in as few words as say them: evaluated again they are the same."""

from __future__ import annotations

import pytest

from loader_service.protocol.option_text import option_text
from loader_service.protocol.spec import Clip, Frame, Image, Spec


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (Clip(16), "Clip(frames=16)"),
        (Frame(), "Frame()"),
        (None, "None"),
        (Image(), "Image()"),
        (Image(size=(8, 9), flip=True), "Image(size=(8, 9), flip=True)"),
        (
            Spec(4, Clip(2, stride=3), Image(size=(8, 9)), seed=5),
            "Spec(batch_size=4, clip=Clip(frames=2, stride=3), image=Image(size=(8, 9)), seed=5)",
        ),
    ],
)
def test_what_is_said_makes_the_same_options(options: object, text: str) -> None:
    assert option_text(options) == text
    assert eval(text, {each.__name__: each for each in (Clip, Frame, Image, Spec)}) == options
