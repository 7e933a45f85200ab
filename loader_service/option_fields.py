"""Fields of configurations, so that each option is declared once: its default, its help, and what follows from them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from typing import Any, TypeVar, cast

from loader_service.given_paths import local_path

_Config = TypeVar("_Config")


def option(default: Any, text: str, **more: Any) -> Any:
    """Declare an option.

    Parameters
    ----------
    default
        Its value when nothing is said.
    text
        The help that `--help` shows.
    **more
        ``spelling``: how the command line writes its values; ``path``: it is one or several paths, and may begin with a
        home; ``alone``: its value without one; ``hidden``: it is for programs, and no option of a private service;
        ``short``: its flag of one letter;
        ``decides``: whether it decides what a scan finds, True unless said.
    """
    return field(default=default, metadata={"help": text, **more})


def expand_paths(config: Any) -> None:
    """Expand the homes in a configuration's paths; called while it is made. ConfigError for a URL."""
    for each in fields(config):
        given = getattr(config, each.name) if each.metadata.get("path") else None
        if isinstance(given, (list, tuple)):
            object.__setattr__(config, each.name, tuple(local_path(os.fspath(one)) for one in given))
        elif given and isinstance(given, (str, os.PathLike)):
            object.__setattr__(config, each.name, local_path(os.fspath(given)))


def nested(config: type) -> dict[str, type]:
    """Return the configurations that a configuration holds, by the names of its fields."""
    factories = {each.name: each.default_factory for each in fields(config) if each.default_factory is not MISSING}
    return {name: cast("type", made) for name, made in factories.items() if is_dataclass(made)}


def all_fields(config: type) -> list[Field[Any]]:
    """Return the fields of a configuration, with those of nested ones in their place."""
    parts = nested(config)
    return [
        inner for each in fields(config) for inner in (all_fields(parts[each.name]) if each.name in parts else [each])
    ]


def build(config: type[_Config], given: Mapping[str, Any]) -> _Config:
    """Return a configuration of options by name, of which each goes to the configuration that declares it."""
    left = dict(given)
    inner: dict[str, Any] = {}
    for name, part in nested(config).items():
        own = {each.name for each in all_fields(part)}
        inner[name] = build(part, {key: left.pop(key) for key in list(left) if key in own})
    return config(**left, **inner)


def changed(config: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a configuration, by name, that were given another value than the default."""
    return {
        each.name: given[each.name] for each in fields(config) if given.get(each.name, each.default) != each.default
    }
