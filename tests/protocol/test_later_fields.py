"""Fields that came later travel only when they say something, so peers of both ages understand each other."""

from __future__ import annotations

import msgpack
import pytest

from loader_service.errors import ConfigError, ProtocolError
from loader_service.protocol import messages as m
from loader_service.protocol.consumed import Consumed, ResumedEpoch
from loader_service.protocol.spec import Frame, Spec
from loader_service.protocol.wire import PREFIX, decode, encode

_RESUMED = ResumedEpoch(3, (Consumed(4, 16, (7, 7, 8, 7)), Consumed(2, 16, (5,))))
_OPENED = m.Opened(1, 3, (), steps_per_epoch=10, slots=8, prefetch=4)


def test_what_says_nothing_new_has_the_bytes_that_it_had() -> None:
    assert b"resumed" not in encode(m.OpenStream(1, Spec(16, Frame())))
    assert b"first_step" not in encode(_OPENED)


@pytest.mark.parametrize(
    "message",
    [
        m.OpenStream(1, Spec(16, Frame(), resumed=_RESUMED)),
        m.Opened(1, 3, (), steps_per_epoch=10, slots=8, prefetch=4, first_step=6),
    ],
)
def test_what_says_something_comes_as_it_went(message: m.OpenStream | m.Opened) -> None:
    assert decode(encode(message), m.OpenStream | m.Opened) == [message]


def _changed(message: object, **changes: object) -> bytes:
    plain = msgpack.unpackb(encode(message)[len(PREFIX) :])
    return PREFIX + bytes(msgpack.packb({**plain, **changes}))


def test_a_field_that_nobody_has_declared_is_refused_as_before() -> None:
    with pytest.raises(ProtocolError, match="expected the fields"):
        decode(_changed(_OPENED, last_step=3), m.Opened)
    with pytest.raises(ProtocolError, match=r"Opened\.first_step"):
        decode(_changed(_OPENED, first_step="3"), m.Opened)


def test_numbers_of_a_hostile_peer_are_refused() -> None:
    good = m.OpenStream(1, Spec(16, Frame(), resumed=_RESUMED))
    plain = msgpack.unpackb(encode(good)[len(PREFIX) :])
    for consumed in (
        [],
        [{"world": 3, "batch_size": 1, "steps": [1, 2]}],
        [{"world": 0, "batch_size": 1, "steps": [1]}],
    ):
        plain["spec"]["resumed"] = {"epoch": 1, "consumed": consumed}
        with pytest.raises(ConfigError):
            decode(PREFIX + bytes(msgpack.packb(plain)), m.OpenStream)
