"""Has installations and wheels compile the native code, where that can be; without it they are pure Python."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FOLDER = Path("loader_service", "native")


class NativeBuildHook(BuildHookInterface):
    """Runs `build.py` before files are collected. What it makes needs no certain Python, only the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Compile in place, also for editable installations; say that the wheel is for this platform."""
        folder = Path(self.root) / _FOLDER
        subprocess.run([sys.executable, str(folder / "build.py")], check=True)
        if any(folder.glob("*.so")):
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
