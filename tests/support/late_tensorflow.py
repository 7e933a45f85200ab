"""TensorFlow under its usual name for test files, imported when a test first uses it.

Each process of a run imports all test files, and most need no TensorFlow: it takes longer than all else.
"""

from __future__ import annotations

from typing import Any


class _LateTensorFlow:
    """Has what the module has."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for such in all that a test file has
            raise AttributeError(name)
        import tensorflow  # noqa: PLC0415, ICN001 - this is what the class is for

        return getattr(tensorflow, name)


tf: Any = _LateTensorFlow()
"""For tests that ask for the fixture of the same name, which imports it as all tests need it."""
