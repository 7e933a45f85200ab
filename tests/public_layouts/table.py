"""All cases in one table, and which of them do not hold yet."""

from __future__ import annotations

import importlib
import pkgutil

import tests.public_layouts
from tests.public_layouts.expectations import CASES, Case

for _module in sorted(each.name for each in pkgutil.iter_modules(tests.public_layouts.__path__)):
    if not _module.startswith("test_") and _module != "table":
        importlib.import_module(f"tests.public_layouts.{_module}")

TABLE: dict[str, Case] = {each.name: each for each in CASES}
"""By name."""
