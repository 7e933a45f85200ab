"""Compiles the C files of this folder into the library beside them; run as a script, it needs nothing but Python.

    python loader_service/native/build.py

A host without a C compiler gets no library, and one line that says so: the library is optional.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LIBRARY = FOLDER / "libloader_native.so"

#: No ``-march``: what needs a newer processor is compiled for it function by function, and chosen at run time.
FLAGS = ("-std=c11", "-O3", "-g1", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-fno-math-errno")

_COMPILERS = ("cc", "gcc", "clang")
_PATIENCE_S = 300.0


def sources_key() -> int:
    """Return a checksum of all C files, or 0 where none lie here, as in a wheel."""
    key = 0
    for path in sorted((*FOLDER.glob("*.c"), *FOLDER.glob("*.h"))):
        key = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), key))
    return key


def compiler() -> list[str] | None:
    """Return the command of the C compiler: that of the environment's ``CC``, or the first that is found."""
    import shutil  # noqa: PLC0415 - workers only ask for `sources_key`

    given = os.environ.get("CC", "").split()
    if given:
        return given if shutil.which(given[0]) else None
    return next(([path] for name in _COMPILERS if (path := shutil.which(name))), None)


def compile_library(target: Path, more_flags: Sequence[str] = ()) -> str | None:
    """Write the library, whole or not at all; return in a line why there is none, or None.

    A library that lay there before goes in any case, since it is not what these sources make.
    """
    import subprocess  # noqa: PLC0415 - as above

    command = compiler()
    if command is None:
        target.unlink(missing_ok=True)
        return "there is no C compiler; install gcc or clang, or set CC"
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    sources = sorted(str(path) for path in FOLDER.glob("*.c"))
    key = f"-DNATIVE_SOURCES_KEY={sources_key()}u"
    try:
        done = subprocess.run(
            [*command, *FLAGS, *more_flags, key, "-shared", "-o", str(unfinished), *sources],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        if done.returncode == 0:
            unfinished.replace(target)
            return None
        target.unlink(missing_ok=True)
        return f"{command[0]} ended with code {done.returncode}:\n{done.stderr.strip()}"
    except (OSError, subprocess.TimeoutExpired) as error:
        target.unlink(missing_ok=True)
        return f"{command[0]} does not run: {error}"
    finally:
        unfinished.unlink(missing_ok=True)


def main() -> None:
    """Compile, and say what came of it."""
    import argparse  # noqa: PLC0415 - as above

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=LIBRARY, metavar="FILE")
    parser.add_argument("flags", nargs="*", metavar="FLAG", help="more flags of the compiler, after `--`")
    given = parser.parse_args()
    problem = compile_library(given.output, given.flags)
    if problem is None:
        sys.stdout.write(f"native code: {given.output}\n")
    else:
        sys.stderr.write(f"no native code, everything works without it: {problem}\n")


if __name__ == "__main__":
    main()
