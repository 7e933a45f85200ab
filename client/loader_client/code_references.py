"""Names a user's function or class so that a service can import it, or says why that cannot be; imports no module."""

from __future__ import annotations

import inspect
import os
import sys
from typing import Any

from loader_service.errors import ConfigError


def reference_of(option: str, value: Any) -> str:
    """Return ``package.module:Name`` of a function or class that another process finds by it.

    Parameters
    ----------
    option
        Which option of a service it is given for: ``"source"`` or ``"transform"``.
    value
        The function or class.

    Raises
    ------
    ConfigError
        When no other process can import it: it has no name in a module, or its module is the program that runs.
    """
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        raise ConfigError(f"{option}={value!r:.200} has no name by which a service can import it; {_named(option)}")
    if "<lambda>" in name:
        raise ConfigError(
            f"{option} is a lambda, which has no name by which a service can import it; write it as a function, with "
            f"`def`, at the top level of a module{_example(option)}"
        )
    if "<locals>" in name:
        outer, _, inner = name.rpartition(".<locals>.")
        raise ConfigError(
            f"{option}: {inner!r} is defined inside {outer!r}, where a service cannot import it; move it to the top "
            f"level of a module{_example(option, inner)}"
        )
    if inspect.ismethod(value) and not isinstance(value.__self__, type):
        raise ConfigError(
            f"{option}: {name!r} is a method of one object, which no other process has; write it as a function, with "
            f"`def`, at the top level of a module{_example(option)}"
        )
    if module == "__main__":
        raise ConfigError(f"{option}: {name!r} is defined {_in_main(option, name)}")
    if _found(module, name) != value:  # a method of a class is made anew each time
        raise ConfigError(
            f"{option}: {module}:{name} is not the {type(value).__name__} that was given, as when one takes the place "
            f"of another; give it a name of its own in {module!r}"
        )
    return f"{module}:{name}"


def _named(option: str) -> str:
    """Return what to give in place of an object, or of a function with arguments of its own."""
    if option == "source":
        return (
            "give its class, or the function, itself, and its arguments as source_arg='name=value', or a list of such"
        )
    return f"write it as a function, with `def`, at the top level of a module{_example(option)}"


def _example(option: str, name: str = "") -> str:
    name = name if name.isidentifier() else f"my_{option}"
    return (
        f", such as a file my_{option}.py in {os.getcwd()!r}, then `from my_{option} import {name}` and {option}={name}"
    )


def _in_main(option: str, name: str) -> str:
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is None or not os.path.isfile(script):
        return (
            "in a notebook or at the prompt, where a service cannot import it; write it into a file (in a notebook, "
            f"with %%writefile my_{option}.py as the first line of its cell){_example(option, name)}"
        )
    return (
        f"in {script!r}, the program that runs, which a service would have to run again to import it; move it to a "
        f"module of its own{_example(option, name)}"
    )


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def place_advice(module: str) -> str:
    """Return how a service finds a module that this process has, for an error that says that it did not."""
    first = module.partition(".")[0]
    found = sys.modules.get(first)
    place = getattr(found, "__file__", None)
    package = getattr(found, "__path__", None)
    inside = next(iter(package), None) if package is not None else place
    if inside is None:
        return "; run this program in the folder that holds its module"
    home = os.path.dirname(os.path.abspath(inside))
    return f"; here {first!r} lies in {home!r}: run this program in that folder, or with PYTHONPATH={home}"
