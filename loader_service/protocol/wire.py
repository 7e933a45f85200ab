"""Messages to bytes and back, bounded and checked field by field; knows msgpack, but no socket.

A payload is three bytes of prefix (two of magic, one of protocol version) and one msgpack value: a message, or an array
of several that were ready at the same time. A message is a map of its class name under ``"is"`` and its fields. A
receiver names the union of messages that it accepts; anything else is refused. The checks follow from the dataclasses'
annotations, so a message is declared once.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar

import msgpack

from loader_service.errors import ConfigError, ProtocolError
from loader_service.protocol.later_fields import later_fields, travelling
from loader_service.protocol.numbers import NumberColumn, PackedNumbers, are_int64

VERSION = 6
_MAGIC = b"LS"
PREFIX = _MAGIC + bytes([VERSION])

#: Bounds of one payload. The largest honest message is a status of some hundred workers, about 50 KB.
MAX_PAYLOAD_BYTES = 4 * 2**20
MAX_MESSAGES = 1_024
_MAX_STRING_BYTES = 65_536
_MAX_ITEMS = 131_072
_MAX_INT = 2**63

#: Packers that nobody uses now, for any thread: to make one takes longer than to pack a message.
_PACKERS: list[Any] = []

#: A packer keeps the room of the largest payload that it made; one with more than this is not kept.
_PACKER_BYTES = 2**18

_Check = Callable[[Any, str], Any]

#: By identity, since to hash a union takes longer than to read a message: each union, and the checks of its classes.
_ACCEPTED: dict[int, tuple[Any, dict[str, _Check]]] = {}
_M = TypeVar("_M")


def encode(*messages: Any) -> bytes:
    """Return the payload of one or more messages.

    Raises
    ------
    ProtocolError
        When a field holds what cannot travel, or the payload is larger than a receiver would accept.
    """
    plain = [{**travelling(message), "is": type(message).__name__} for message in messages]
    # A dataclass inside packs as the map of its fields. Names need not be Unicode: they are for people, and escaped.
    try:
        packed = _pack(plain if len(plain) > 1 else plain[0])
    except (TypeError, OverflowError) as error:
        named = next(filter(None, (_misfit(message, type(message).__name__) for message in messages)), "a message")
        raise ProtocolError(
            f"{named} cannot travel; a message holds texts, truth values, and numbers of Python's own, of 64 bits"
        ) from error
    payload = PREFIX + packed
    if len(payload) > MAX_PAYLOAD_BYTES:
        names = ", ".join(type(message).__name__ for message in messages[:3])
        raise ProtocolError(f"{names} take {len(payload)} bytes, more than the {MAX_PAYLOAD_BYTES} that a peer accepts")
    return payload


def decode(payload: bytes, accepted: type[_M] | types.UnionType) -> list[_M]:
    """Return the messages in `payload`.

    Parameters
    ----------
    payload
        As `encode` made it, or anything at all.
    accepted
        A message class, or a union of them.

    Raises
    ------
    ProtocolError
        When it is no message, of another protocol version, or none of the accepted ones; says what is wrong where. One
        bad message spoils the payload: no honest peer sends one.
    ConfigError
        When it is a message whose spec asks for something impossible.
    """
    if len(payload) > MAX_PAYLOAD_BYTES or not payload.startswith(PREFIX):
        _refuse_prefix(payload)
    plain = _unpack(memoryview(payload)[len(PREFIX) :])
    kinds = _by_name(accepted)
    if isinstance(plain, list):
        if not 1 <= len(plain) <= MAX_MESSAGES:
            raise ProtocolError(f"payload holds {len(plain)} messages; expected 1 to {MAX_MESSAGES}")
        return [_check_message(each, kinds) for each in plain]
    return [_check_message(plain, kinds)]


def _pack(value: Any) -> bytes:
    try:
        packer = _PACKERS.pop()
    except IndexError:
        packer = msgpack.Packer(default=_plain, unicode_errors="backslashreplace", buf_size=_PACKER_BYTES)
    packed: bytes = packer.pack(value)
    if len(packed) < _PACKER_BYTES:
        _PACKERS.append(packer)
    return packed


def _plain(value: Any) -> Any:
    """Return what msgpack knows of what it does not know."""
    return value.data if isinstance(value, PackedNumbers) else travelling(value)


def _misfit(value: Any, place: str) -> str | None:
    """Return place and value of the first thing that cannot be packed, or None."""
    if dataclasses.is_dataclass(value):
        kind = type(value).__name__
        inside = [(each, f"{kind}.{name}") for name, each in vars(value).items()]
    elif isinstance(value, (tuple, list)):
        inside = [(each, place) for each in value]
    else:
        try:
            _pack(value)
        except (TypeError, OverflowError):
            return f"{place}={value!r:.80}"
        return None
    return next(filter(None, (_misfit(each, where) for each, where in inside)), None)


def _unpack(data: memoryview) -> Any:
    try:
        return _unpack_bounded(data)
    except ProtocolError:
        raise
    except (ValueError, TypeError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise ProtocolError(f"payload of {len(data)} bytes is not one msgpack value: {error}") from error


def _check_message(plain: Any, kinds: Mapping[str, _Check]) -> Any:
    if not isinstance(plain, dict):
        raise ProtocolError(f"expected a message, got {type(plain).__name__}")
    name = plain.pop("is", None)
    check = kinds.get(name) if isinstance(name, str) else None
    if check is None:
        raise ProtocolError(f"expected one of {', '.join(kinds)}, got {_shown(name)}")
    return check(plain, name)


def _refuse_prefix(payload: bytes) -> None:
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ProtocolError(f"payload of {len(payload)} bytes is larger than the {MAX_PAYLOAD_BYTES} allowed")
    if payload[: len(_MAGIC)] != _MAGIC or len(payload) < len(PREFIX):
        raise ProtocolError(f"payload of {len(payload)} bytes does not begin as a loader-service message")
    raise ProtocolError(
        f"the peer speaks protocol version {payload[len(_MAGIC)]}, this side version {VERSION}; "
        "install the same version of loader-service on both ends"
    )


def _unique_keys(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProtocolError(f"a map names a key twice among {[key for key, _ in pairs]!r:.200}")
    return found


def _shown(value: Any) -> str:
    """Return a peer's value for an error message: short, and safe for nesting that is too deep for `repr`."""
    if isinstance(value, (list, dict, bytes)):
        kind = {list: "an array of", dict: "a map of", bytes: "bytes,"}[type(value)]
        return f"{kind} {len(value)}"
    return f"{value!r:.80}"


def _refuse_extension(code: int, _data: bytes) -> Any:
    raise ProtocolError(f"msgpack extension type {code} is not part of this protocol")


_unpack_bounded = partial(
    msgpack.unpackb,
    strict_map_key=True,
    object_pairs_hook=_unique_keys,
    ext_hook=_refuse_extension,
    max_str_len=_MAX_STRING_BYTES,
    max_bin_len=8 * _MAX_ITEMS,
    max_array_len=_MAX_ITEMS,
    max_map_len=256,
    max_ext_len=0,
)


def _by_name(accepted: Any) -> dict[str, _Check]:
    known = _ACCEPTED.get(id(accepted))
    if known is None:
        kinds = {kind.__name__: _checker(kind) for kind in typing.get_args(accepted) or (accepted,)}
        known = _ACCEPTED[id(accepted)] = (accepted, kinds)
    return known[1]


@cache
def _checker(hint: Any) -> _Check:
    """Return the function that checks a plain value against an annotation and returns it in its Python form."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass_checker(hint)
    simple: dict[Any, _Check] = {
        int: _check_int,
        bool: _check_bool,
        str: _check_str,
        float: _check_float,
        type(None): _check_none,
    }
    if hint in simple:
        return simple[hint]
    if hint == NumberColumn:
        return _check_numbers
    origin = typing.get_origin(hint)
    if origin is tuple:
        return _tuple_checker(hint)
    if origin is typing.Literal:
        return _literal_checker(hint)
    if origin in (typing.Union, types.UnionType):
        return _union_checker(hint)
    raise TypeError(f"no message may hold a {hint!r}")


def _check_int(value: Any, place: str) -> int:
    if type(value) is not int or not -_MAX_INT <= value < _MAX_INT:
        raise ProtocolError(f"{place}: expected a 64-bit integer, got {_shown(value)}")
    return value


def _check_bool(value: Any, place: str) -> bool:
    if type(value) is not bool:
        raise ProtocolError(f"{place}: expected true or false, got {_shown(value)}")
    return value


def _check_str(value: Any, place: str) -> str:
    if type(value) is not str:
        raise ProtocolError(f"{place}: expected a string, got {_shown(value)}")
    return value


def _check_float(value: Any, place: str) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ProtocolError(f"{place}: expected a finite number, got {_shown(value)}")
    return float(value)


def _check_none(value: Any, place: str) -> None:
    if value is not None:
        raise ProtocolError(f"{place}: expected nil, got {_shown(value)}")


def _check_numbers(value: Any, place: str) -> Any:
    if type(value) is not bytes:
        return _checker(tuple[int, ...])(value, place)
    if len(value) % 8:
        raise ProtocolError(f"{place}: expected 8 bytes for each number, got {len(value)} bytes")
    return PackedNumbers(value)


def _tuple_checker(hint: Any) -> _Check:
    items = typing.get_args(hint)
    if len(items) == 2 and items[1] is Ellipsis:
        return _sequence_checker(items[0])
    checks = [_checker(item) for item in items]

    def check(value: Any, place: str) -> tuple[Any, ...]:
        if type(value) is not list or len(value) != len(checks):
            raise ProtocolError(f"{place}: expected {len(checks)} values, got {_shown(value)}")
        return tuple(each(item, place) for each, item in zip(checks, value, strict=True))

    return check


def _sequence_checker(item_hint: Any) -> _Check:
    item_check = _checker(item_hint)
    is_of_ints = item_hint is int

    def check(value: Any, place: str) -> tuple[Any, ...]:
        if type(value) is not list:
            raise ProtocolError(f"{place}: expected an array, got {_shown(value)}")
        if not value:
            return ()
        if is_of_ints and are_int64(value):
            return tuple(value)
        return tuple([item_check(item, place) for item in value])

    return check


def _literal_checker(hint: Any) -> _Check:
    choices = typing.get_args(hint)

    def check(value: Any, place: str) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            raise ProtocolError(f"{place}: expected one of {choices!r}, got {_shown(value)}")
        return value

    return check


def _union_checker(hint: Any) -> _Check:
    checks = [_checker(choice) for choice in typing.get_args(hint)]

    def check(value: Any, place: str) -> Any:
        for each in checks:
            try:
                return each(value, place)
            except ProtocolError:
                continue
        raise ProtocolError(f"{place}: expected {hint}, got {_shown(value)}")

    return check


def _dataclass_checker(kind: Any) -> _Check:
    hints = typing.get_type_hints(kind)
    checks = {it.name: (_checker(hints[it.name]), f"{kind.__name__}.{it.name}") for it in dataclasses.fields(kind)}
    least = checks.keys() - later_fields(kind).keys()
    names = checks.keys()
    in_order = [(name, each, where) for name, (each, where) in checks.items()]
    is_of_ints = all(hints[name] is int for name in names)

    def check(value: Any, place: str) -> Any:
        try:
            if type(value) is dict and value.keys() == names:
                if is_of_ints and are_int64([*value.values()]):  # without a call for each
                    return kind(**value)
                # By position, which takes half as long.
                return kind(*[each(value[name], where) for name, each, where in in_order])
            if type(value) is dict and least <= value.keys() <= names:
                return kind(**{name: each(value[name], where) for name, each, where in in_order if name in value})
        except (ProtocolError, ConfigError):
            raise
        except (TypeError, ValueError) as error:
            raise ProtocolError(f"{place}: {error}") from error
        got = f"{sorted(value, key=str)!r:.200}" if type(value) is dict else _shown(value)
        raise ProtocolError(f"{place}: expected the fields {sorted(checks)}, got {got}")

    return check
