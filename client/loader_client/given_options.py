"""Looks at what people give a dataset before a `Spec` is made of it: what would be misread, or do nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields
from typing import Any

from loader_service.errors import ConfigError
from loader_service.protocol.spec import Clip, Spec

#: What a call needs for each of these options to do anything.
_OF_INTERLEAVE = ("cycle_length", "block_length")


def names_given(names: Any) -> Any:
    """Return names of fields as a tuple; what is none is returned as it is, for `Spec` to say so."""
    if isinstance(names, (str, bytes, AbstractSet, Mapping)):  # a set has no order, and elements do
        return names
    try:
        return None if names is None else tuple(names)
    except TypeError:
        return names


def keys_given(keys: Any, key_field: Any) -> list[str | bytes] | None:
    """Return the keys of samples; None where none were given.

    Raises
    ------
    ConfigError
        When they are no strings, or a field is named without them.
    """
    if keys is None:
        if key_field is not None:
            raise ConfigError(f"key_field={key_field!r} says where index_keys are looked up, and there are none")
        return None
    if key_field is not None and not isinstance(key_field, str):
        raise ConfigError(f"key_field={key_field!r} is no name; give that of a field of strings, such as 'key'")
    given = keys.numpy() if hasattr(keys, "numpy") else keys  # a tensor's elements are tensors
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or getattr(given, "shape", None) == ():
        raise ConfigError(f"index_keys={keys!r:.200} is no list of keys; give index_keys=['key', …]")
    found = list(given)
    odd = [each for each in found if not isinstance(each, (str, bytes))]
    if odd:
        raise ConfigError(
            f"index_keys has {odd[0]!r:.200}, which is no string; give keys as strings, or sample numbers as index="
        )
    return found


def check_all_do_something(clip: Any, options: Mapping[str, Any]) -> None:
    """Make sure that no option was given that another one leaves without effect.

    Raises
    ------
    ConfigError
        When one was; names the other.
    """
    if isinstance(clip, Clip) and clip.hop != 1 and clip.sampling != "every":
        raise ConfigError(
            f"Clip.hop={clip.hop} is of sampling='every' alone, and sampling is {clip.sampling!r}; "
            "give sampling='every', or leave hop out"
        )
    if options.get("order", "global") != "global":
        return
    defaults = {each.name: each.default for each in fields(Spec)}
    for name in _OF_INTERLEAVE:
        if options.get(name, defaults[name]) != defaults[name]:
            raise ConfigError(
                f"{name}={options[name]!r} is of order='interleave' alone, and order is 'global'; "
                f"give order='interleave', or leave {name} out"
            )
