"""Starts a module of this package as a program in a process that does not import from the current folder.

``python -m`` puts the current folder before everything else, so a ``copy.py`` that lies there would run in place of
Python's own. This file is run by its path instead, as ``python boot.py MODULE ARGUMENTS``. It runs before all others
and imports nothing but what Python has loaded already, or has built in.
"""

import gc
import os
import sys


def add_package_folder() -> None:
    """Let this package be found where it is not installed, after everything else."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if folder not in sys.path:
        sys.path.append(folder)


def forget_empty_entries() -> None:
    """Forget the current folder where only an empty entry of PYTHONPATH names it, as ``PYTHONPATH=$OTHER:/mine`` does.

    Too late for what runs at each start of Python, such as a ``sitecustomize.py``.
    """
    named = os.environ.get("PYTHONPATH", "")
    entries = named.split(os.pathsep)
    try:
        here = os.getcwd()
    except OSError:  # it was removed, and nothing can be imported from it
        return
    if named and "" in entries and here not in {os.path.abspath(entry) for entry in entries if entry}:
        sys.path[:] = [entry for entry in sys.path if entry not in {"", here}]


def forget_first_folder() -> None:
    """Forget what Python put first: the folder of the script, or the current one; with -P it put none."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        del sys.path[0]
    forget_empty_entries()
    add_package_folder()


def import_quickly() -> None:
    """Have Python not look for garbage until `imported`: modules make hardly any, and the looks take long."""
    gc.disable()


def imported() -> None:
    """Have Python look for garbage from now on, but never among what is there already."""
    gc.freeze()
    gc.enable()


def main() -> None:
    """Run the module that the first argument names; it calls `imported`, itself or by `die_with_parent`."""
    forget_first_folder()
    import_quickly()
    import runpy  # noqa: PLC0415 - Python's own only from here on

    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
