"""Starts a module of this package as a program in a process that does not import from the current folder.

``python -m`` puts the current folder before everything else, so a ``copy.py`` that lies there would run in place of
Python's own. This file is run by its path instead, as ``python boot.py MODULE ARGUMENTS``. It runs before all others
and imports nothing that Python has not loaded already.
"""

import os
import sys


def add_package_folder() -> None:
    """Let this package be found where it is not installed, after everything else."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if folder not in sys.path:
        sys.path.append(folder)


def forget_first_folder() -> None:
    """Forget what Python put first: the folder of the script, or the current one; with -P it put none."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        del sys.path[0]
    add_package_folder()


def main() -> None:
    """Run the module that the first argument names."""
    forget_first_folder()
    import runpy  # noqa: PLC0415 - Python's own only from here on

    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
