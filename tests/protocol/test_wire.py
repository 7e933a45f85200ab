"""The wire: its exact bytes, the round trip of every message, and the refusal of everything else."""

from __future__ import annotations

import dataclasses
import random
import tracemalloc
import typing
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings

from loader_service.errors import ConfigError, ProtocolError
from loader_service.protocol import messages as m
from loader_service.protocol import wire
from loader_service.protocol.numbers import number_column
from tests.protocol import samples
from tests.protocol.golden import GOLDEN

ALL = m.FromClient | m.ToClient | m.ToWorker | m.FromWorker


def packed(value: Any) -> bytes:
    """Return a payload of something that is perhaps no message."""
    return wire.PREFIX + typing.cast(bytes, msgpack.packb(value))


def status_request(request: Any) -> bytes:
    return packed({"request": request, "is": "GetStatus"})


def refusal(payload: bytes, accepted: Any = m.FromClient) -> str:
    with pytest.raises(ProtocolError) as caught:
        wire.decode(payload, accepted)
    return str(caught.value)


# ---- what must never change by accident


@pytest.mark.parametrize(("message", "expected"), list(zip(samples.MESSAGES, GOLDEN, strict=True)))
def test_bytes_of_a_message_are_the_golden_ones(message, expected):
    assert wire.encode(message) == expected
    assert wire.decode(expected, samples.union_of(message)) == [message]


def test_golden_table_has_every_kind_of_message():
    kinds = {kind for union in samples.UNIONS for kind in typing.get_args(union)}
    assert {type(message) for message in samples.MESSAGES} == kinds


def test_several_messages_travel_in_one_payload_in_their_order():
    several = (m.Want(1, 1, 0, 0), m.Heartbeat(), m.Release(1, 5))
    assert wire.decode(wire.encode(*several), m.FromClient) == list(several)


@settings(max_examples=150)
@given(samples.any_message())
def test_every_message_comes_back_as_it_was(message):
    assert wire.decode(wire.encode(message), samples.union_of(message)) == [message]


def test_text_that_is_no_unicode_arrives_escaped():
    (received,) = wire.decode(wire.encode(m.Hello("caf\udce9.py", 1)), m.FromClient)
    assert received == m.Hello("caf\\udce9.py", 1)


# ---- what is refused


@pytest.mark.parametrize(
    "payload", [b"", b"L", b"LS", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes(range(256)), b"\0" * 64]
)
def test_bytes_of_another_protocol_are_refused(payload):
    assert "does not begin as a loader-service message" in refusal(payload)


@pytest.mark.parametrize("version", [0, wire.VERSION + 1, 255])
def test_another_version_is_refused_naming_both(version):
    text = refusal(b"LS" + bytes([version]) + packed({})[3:])
    assert f"the peer speaks protocol version {version}, this side version {wire.VERSION}" in text
    assert "install the same version" in text


def test_every_truncation_of_a_message_is_refused():
    payload = wire.encode(m.OpenStream(1, samples.SPEC))
    for size in range(len(payload)):
        refusal(payload[:size])


def test_trailing_bytes_are_refused():
    assert "extra data" in refusal(wire.encode(m.Heartbeat()) + b"\xc0")


def test_duplicate_keys_are_refused():
    request = msgpack.packb("request") + msgpack.packb(1)
    payload = wire.PREFIX + b"\x83" + request + request + msgpack.packb("is") + msgpack.packb("GetStatus")
    assert "names a key twice" in refusal(payload)


@pytest.mark.parametrize(
    "value", [msgpack.ExtType(5, b"x"), msgpack.ExtType(5, b""), msgpack.Timestamp(1, 2), b"x", b""]
)
def test_extension_types_and_binary_are_refused(value):
    refusal(status_request(value))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused(value):
    (good,) = (each for each in samples.MESSAGES if isinstance(each, m.Welcome))
    plain = {**dataclasses.asdict(good), "heartbeat_s": value, "is": "Welcome"}
    assert "Welcome.heartbeat_s: expected a finite number" in refusal(packed(plain), m.ToClient)


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 1.0, "1", True, None, [1], {"a": 1}])
def test_what_is_no_64_bit_integer_is_refused(value):
    assert "GetStatus.request: expected a 64-bit integer" in refusal(status_request(value))


@pytest.mark.parametrize("value", [-(2**63), -1, 0, 2**63 - 1])
def test_every_64_bit_integer_is_accepted(value):
    assert wire.decode(status_request(value), m.FromClient) == [m.GetStatus(value)]


@pytest.mark.parametrize("place", [0, 1, 127])
@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 1.0, "1", True, None, [1], {"a": 1}])
def test_what_is_no_64_bit_integer_is_refused_anywhere_in_a_column(value, place):
    column = [*range(place), value, *range(place + 1, 128)]
    plain = {**vars(m.Want(1, 2, 3, 4)), "samples": column, "is": "Want"}
    assert "Want.samples: expected a 64-bit integer" in refusal(packed(plain), m.FromClient)


@pytest.mark.parametrize("size", [1, 7, 9, 2**20 + 8])
def test_a_column_of_bytes_that_are_no_numbers_of_64_bits_is_refused(size):
    plain = {**vars(m.Want(1, 2, 3, 4)), "samples": bytes(size), "is": "Want"}
    assert len(text := refusal(packed(plain), m.FromClient)) < 200
    assert "Want.samples" in text or "max_bin_len" in text


@pytest.mark.parametrize(("kind", "name"), [("Want", "stream"), ("Hello", "name"), ("Want", "is")])
def test_bytes_are_refused_where_no_column_is(kind, name):
    (good,) = (each for each in (m.Want(1, 2, 3, 4), m.Hello("a", 1)) if type(each).__name__ == kind)
    refusal(packed({**vars(good), "is": kind, name: bytes(8)}))


@pytest.mark.parametrize("count", [16, 17, 128])
def test_many_numbers_travel_as_bytes_and_a_few_one_by_one(count):
    numbers = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, count)
    want = m.Want(1, 2, 3, 4, samples=number_column(numbers))
    assert (numbers.tobytes() in wire.encode(want)) is (count > 16)
    assert wire.decode(wire.encode(want), m.FromClient) == [m.Want(1, 2, 3, 4, samples=tuple(numbers.tolist()))]


@pytest.mark.parametrize("column", [(), (-(2**63), -1, 0, 2**63 - 1)])
def test_every_column_of_64_bit_integers_is_accepted(column):
    want = m.Want(1, 2, 3, 4, samples=column, positions=column)
    assert wire.decode(wire.encode(want), m.FromClient) == [want]


@pytest.mark.parametrize(
    "plain",
    [
        {"is": "GetStatus"},
        {"is": "GetStatus", "request": 1, "more": 2},
        {"is": "GetStatus", "reqest": 1},
        {"is": "Welcome", "request": 1},
        {"is": "Task"},
        {"is": "Spec"},
        {"is": "object"},
        {"is": None, "request": 1},
        {"is": ["GetStatus"], "request": 1},
        {"request": 1},
        {},
        [],
        [[]],
        [{"is": "Heartbeat"}, 3],
        None,
        1,
        "GetStatus",
        {"is": "OpenStream", "request": 1, "spec": None},
        {"is": "OpenStream", "request": 1, "spec": {"batch_size": 1}},
    ],
)
def test_what_is_no_message_that_was_expected_is_refused(plain):
    refusal(packed(plain))


def test_names_of_wrong_fields_are_told():
    text = refusal(packed({"is": "GetStatus", "reqest": 1}))
    assert "expected the fields ['request'], got ['reqest']" in text


def test_an_impossible_spec_is_a_config_error():
    message = wire.encode(m.OpenStream(1, samples.SPEC)).replace(b"batch_size\x10", b"batch_size\x00")
    with pytest.raises(ConfigError, match="batch_size=0 is out of range"):
        wire.decode(message, m.FromClient)


@pytest.mark.parametrize("depth", [10, 500, 900, 990, 1_000, 1_015, 1_030, 100_000])
@pytest.mark.parametrize("place", ["message", "field", "kind"])
def test_deep_nesting_is_refused(depth, place):
    nested = b"\x91" * depth + b"\xc0"
    head = {"message": b"", "field": b"\x82\xa2is\xa9GetStatus\xa7request", "kind": b"\x81\xa2is"}[place]
    refusal(wire.PREFIX + head + nested)


@pytest.mark.parametrize(
    "dtype",
    [
        "",
        "(1",
        "f4,,",
        "(99999999999999,)f4",
        "S99999999999999999999",
        "a5",
        "U3",
        "O",
        "f4,f4",
        "i\0",
        "S0",
        "c16",
        "\ud800",
    ],
)
def test_a_field_of_an_odd_dtype_is_refused(dtype):
    payload = wire.encode(m.Opened(1, 1, samples.FIELDS, 1, 1, 1)).replace(
        b"\xa3S24", msgpack.packb(dtype, unicode_errors="surrogatepass")
    )
    refusal(payload, m.ToClient)


@pytest.mark.parametrize("shape", [(-1,), (2**62, 2**62), (1,) * 1000, (2**63 - 1,) * 16])
def test_a_field_of_an_odd_shape_is_refused(shape):
    plain = {"name": "x", "dtype": "uint8", "varies": False, "shape": list(shape)}
    opened = {
        "is": "Opened",
        "request": 1,
        "stream": 1,
        "fields": [plain],
        "steps_per_epoch": 1,
        "slots": 1,
        "prefetch": 1,
        "samples": 1,
        "frames": 0,
        "resizes": 0,
    }
    assert "shape" in refusal(packed(opened), m.ToClient)


def test_what_could_not_travel_leaves_nothing_in_the_next_payload():
    sound = m.Want(1, 2, 3, 4)
    expected = wire.encode(sound)
    for _ in range(3):
        with pytest.raises(ProtocolError, match="cannot travel"):
            wire.encode(m.Refused(1, "E", "x" * 1000), m.Want(1, 2, 0, 2**64))
        assert wire.encode(sound) == expected
    assert wire.decode(wire.encode(*[m.Refused(1, "E", "x" * 60_000)] * 9), m.Refused)[8].message == "x" * 60_000
    assert wire.encode(sound) == expected


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (m.Scale(1, np.int64(2)), f"Scale.workers={np.int64(2)!r} cannot travel"),
        (m.Want(1, 2, 0, 2**64), "Want.step=18446744073709551616 cannot travel"),
        (m.Want(1, 2, 0, 0, (3, np.int32(4))), f"Want.samples={np.int32(4)!r} cannot travel"),
        (m.TaskDone(1, 1, (m.BadRow(0, "E", "x"), m.BadRow({1}, "E", "x"))), "BadRow.row={1} cannot travel"),
    ],
)
def test_what_cannot_travel_is_named_with_its_field(message, named):
    with pytest.raises(ProtocolError) as caught:
        wire.encode(m.Heartbeat(), message)
    assert named in str(caught.value)


# ---- bounds


def test_an_oversized_payload_is_refused_by_both_ends():
    huge = m.TaskDone(1, 1, tuple(m.BadRow(row, "DecodeError", "x" * 60_000) for row in range(80)))
    with pytest.raises(ProtocolError, match=f"more than the {wire.MAX_PAYLOAD_BYTES}"):
        wire.encode(huge)
    assert "larger than" in refusal(wire.PREFIX + b"\xc0" * wire.MAX_PAYLOAD_BYTES)


def test_too_many_messages_in_a_payload_are_refused():
    assert "1025 messages; expected 1 to 1024" in refusal(packed([{"is": "Heartbeat"}] * 1025))


@pytest.mark.parametrize(
    "head", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc9\xff\xff\xff\xff\0"]
)
def test_an_announced_size_allocates_nothing(head):
    tracemalloc.start()
    try:
        refusal(wire.PREFIX + head)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("unit", [b"\x90", b"\x80", b"\xa0", b"\x91\xc0"])
def test_a_large_payload_takes_bounded_memory(unit):
    """An element of one byte becomes an object of some sixty: that is the worst that a payload can do."""
    part = b"\xdc" + (60_000).to_bytes(2, "big") + unit * 60_000
    payload = wire.PREFIX + b"\x98" + part * 8
    tracemalloc.start()
    try:
        refusal(payload)
        assert tracemalloc.get_traced_memory()[1] < 100 * len(payload)
    finally:
        tracemalloc.stop()


def test_the_complaint_about_a_large_value_is_short():
    assert len(refusal(status_request(["x" * 60_000] * 60))) < 300
    assert len(refusal(packed({"y" * 60_000 + str(number): 0 for number in range(60)}))) < 600
    repeated = msgpack.packb("k" * 60_000) + b"\xc0"
    assert len(refusal(wire.PREFIX + b"\x82" + repeated * 2)) < 300


def test_mutated_messages_raise_nothing_but_named_errors():
    rng = random.Random(20_260)  # the same inputs in every run
    payloads = [wire.encode(message) for message in samples.MESSAGES]
    refused = 0
    for _ in range(10_000):
        payload = _mutated(rng, rng.choice(payloads), payloads)
        try:
            wire.decode(payload, ALL)
        except (ProtocolError, ConfigError) as error:
            refused += bool(str(error))
    assert refused > 7_000


def _mutated(rng: random.Random, payload: bytes, others: list[bytes]) -> bytes:
    """Return a payload with one to four of its parts changed, cut, doubled or taken from another."""
    data = bytearray(payload)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(3, len(data) + 1) if rng.random() < 0.9 else rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[place : place + 1] = rng.randbytes(1)
            case 1:
                data[place : place + rng.randint(1, 8)] = b""
            case 2:
                data[place:place] = rng.randbytes(rng.randint(1, 8))
            case 3:
                data[place:place] = data[place : place + rng.randint(1, 40)]
            case 4:
                other = rng.choice(others)
                start = rng.randrange(3, len(other))
                data[place : place + rng.randint(0, 20)] = other[start : start + rng.randint(1, 40)]
            case 5:
                data[place : place + 1] = rng.choice(
                    [b"\xc0", b"\xc1", b"\xc3", b"\xca", b"\xcf" + b"\xff" * 8, b"\xd0\x80",
                     b"\xcb\x7f\xf8" + b"\0" * 6, b"\xd9", b"\xdc\xff\xff", b"\xde\xff\xff",
                     b"\xc7\x01\x05x", b"\xa1\xff"]
                )  # fmt: skip
    return bytes(data)
