"""References to a user's own code lead to it or say what to change; whatever the code raises is an error of its own."""

from __future__ import annotations

import asyncio
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from loader_service.errors import SourceError
from loader_service.user_code.loading import blamed, describe, load
from loader_service.user_code.transform import Transform


class Outer:
    class Inner:
        def method(self):
            return 5

    @property
    def broken(self):
        raise ZeroDivisionError("half a division")


AN_OUTER = Outer()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which a service was started; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_a_reference_leads_to_classes_and_to_what_they_have():
    assert load(f"{__name__}:Outer") is Outer
    assert load(f"{__name__}:Outer.Inner.method")(None) == 5
    assert load("math:floor")(2.5) == 2


def test_modules_of_the_folder_of_the_start_are_found(folder):
    (folder / "e2_package").mkdir()
    (folder / "e2_package" / "part.py").write_text("class Scenes: pass\n")
    assert load("e2_package.part:Scenes").__name__ == "Scenes"


@pytest.mark.parametrize("reference", ["", "module", "module:", ":Name", "a b:c", "module:Name.", "a:b:c", "../x:y"])
def test_what_is_no_reference_is_refused_with_an_example(reference):
    with pytest.raises(SourceError, match=r"names nothing; give package\.module:Name, such as my_data:Scenes"):
        load(reference)


def test_who_names_a_file_is_told_the_name_of_its_module(folder):
    (folder / "e2_own.py").write_text("def f(): pass\n")
    with pytest.raises(SourceError, match=r"'e2_own.py' is a file; name the module in it, 'e2_own'"):
        load("e2_own.py:f")
    with pytest.raises(SourceError, match=r"names nothing; give package.module:Name, such as e2_package.own:f"):
        load("./e2_package/own.py:f")


def test_a_missing_module_is_named_with_the_folder_that_was_searched(folder):
    with pytest.raises(SourceError, match=f"there is no module 'e2_nowhere', looked for in '{folder}'.*start the serv"):
        load("e2_nowhere.deep:Name")


def test_a_module_that_a_users_module_lacks_is_told_from_the_users_module(folder):
    (folder / "e2_needy.py").write_text("\nimport e2_not_installed\n")
    with pytest.raises(SourceError) as caught:
        load("e2_needy:Name")
    assert "importing 'e2_needy' raised ModuleNotFoundError: No module named 'e2_not_installed'" in str(caught.value)
    assert str(caught.value).endswith("e2_needy.py:2: import e2_not_installed)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (\n", "SyntaxError: '(' was never closed (e2_bad.py, line 1)"),
        ("raise SystemExit(3)\n", "SystemExit: 3 ({folder}/e2_bad.py:1: raise SystemExit(3))"),
        ("\n\nimport sys; sys.exit()\n", "SystemExit: no message ({folder}/e2_bad.py:3: import sys; sys.exit())"),
        ("assert False, 'no\\nlines'\n", "AssertionError: no lines ({folder}/e2_bad.py:1: assert False, 'no\\nlines')"),
    ],
)
def test_a_module_that_raises_is_named_with_the_line(folder, text, said):
    (folder / "e2_bad.py").write_text(text)
    with pytest.raises(SourceError) as caught:
        load("e2_bad:Name")
    assert str(caught.value) == f"importing 'e2_bad' raised {said.format(folder=folder)}"


def test_a_missing_name_is_answered_with_those_that_the_module_defines(folder):
    (folder / "e2_names.py").write_text("import os\nfrom json import loads\nclass Scenes: pass\ndef _hidden(): pass\n")
    with pytest.raises(SourceError, match=r"'e2_names:Scene': 'e2_names' has no 'Scene'; it has Scenes$"):
        load("e2_names:Scene")
    with pytest.raises(SourceError, match=r"'Scenes' has no 'generate'; it has nothing public$"):
        load("e2_names:Scenes.generate")


def test_a_property_that_raises_is_an_error_of_its_own():
    with pytest.raises(
        SourceError, match=r"raised ZeroDivisionError: half a division \(.*test_loading.py:\d+: raise .*\)"
    ):
        load(f"{__name__}:AN_OUTER.broken")


@pytest.mark.parametrize(
    "error", [ValueError("v"), SystemExit(2), KeyboardInterrupt(), StopIteration(), GeneratorExit(),
              asyncio.CancelledError(), MemoryError()],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_is_raised_becomes_a_source_error_that_names_it(error):
    with pytest.raises(SourceError, match=f"^the code raised {type(error).__name__}: ") as caught, blamed("the code"):
        raise error
    assert caught.value.__cause__ is error


def test_an_error_that_names_its_place_already_is_passed_on():
    with pytest.raises(SourceError, match=r"^inner$"), blamed("outer"):
        raise SourceError("inner")


def test_a_description_is_one_short_line_that_ends_with_the_users_own_line():
    def fail():
        raise ValueError("many words\n\n" * 1000)

    try:
        fail()
    except ValueError as error:
        text = describe(error)
    assert len(text) < 1000
    assert "\n" not in text
    line = fail.__code__.co_firstlineno + 1
    assert text.endswith(f'… ({__file__}:{line}: raise ValueError("many words\\n\\n" * 1000))')


def test_an_error_of_the_call_itself_names_no_line_of_the_service(folder):
    (folder / "e2_call.py").write_text("def f(*both): return both[2]\n")
    with pytest.raises(SourceError) as caught:
        Transform("e2_call:f").apply({}, 0, 0, 0)
    assert str(caught.value).endswith("e2_call.py:1: def f(*both): return both[2])")


def test_the_line_is_the_users_when_a_library_raises_below_it(folder):
    (folder / "e2_stack.py").write_text(
        "import json\nimport numpy as np\n\n"
        "def f(sample, rng):\n    return g(sample['parts'])\n\n"
        "def g(parts):\n    return np.broadcast_to(parts, (2, 2))  # of which " + "x" * 200 + "\n\n"
        "def h(sample, rng):\n    return json.loads('{')\n\n"
        "def sort(sample, rng):\n    return sorted(sample, key=lambda each: each.nothing)\n"
    )
    for function, expected in {
        "f": "ValueError: .*e2_stack.py:8: return np.broadcast_to\\(parts, \\(2, 2\\)\\)  # of which x{60,}…\\)$",
        "h": "JSONDecodeError: .*e2_stack.py:11: return json.loads\\('{'\\)\\)$",
        "sort": "AttributeError: .*e2_stack.py:14: return sorted",
    }.items():
        with pytest.raises(SourceError, match=expected):
            Transform(f"e2_stack:{function}").apply({"parts": np.zeros(5)}, 0, 0, 0)


def test_of_code_that_is_installed_the_package_that_was_called_is_the_users(folder, monkeypatch):
    site = folder / "lib" / "site-packages"
    (site / "e2_mine").mkdir(parents=True)
    (site / "e2_mine" / "__init__.py").write_text("")
    (site / "e2_mine" / "deep.py").write_text("import e2_library\ndef g(x): return e2_library.fail(x)\n")
    (site / "e2_mine" / "top.py").write_text("from e2_mine.deep import g\ndef f(sample, rng): return g(sample)\n")
    (site / "e2_library.py").write_text("def fail(x): raise ValueError('a library of theirs')\n")
    (folder / "e2_local.py").write_text("import e2_library\ndef f(sample, rng): return e2_library.fail(sample)\n")
    monkeypatch.syspath_prepend(str(site))
    for reference, place in {"e2_mine.top:f": "e2_mine/deep.py:2: def g", "e2_local:f": "e2_local.py:2: def f"}.items():
        with pytest.raises(SourceError, match=f"a library of theirs .*/{place}"):
            Transform(reference).apply({}, 0, 0, 0)


def test_a_place_whose_code_is_not_there_to_be_read_is_named_without_it(folder):
    (folder / "e2_gone.py").write_text("def f(sample, rng): return {}['gone']\n")
    transform = Transform("e2_gone:f")
    (folder / "e2_gone.py").unlink()
    with pytest.raises(SourceError, match=r"KeyError: 'gone' \(.*/e2_gone.py:1\)$"):
        transform.apply({}, 0, 0, 0)


def test_an_exception_without_a_text_of_its_own_is_described_too():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("not even this")

    assert describe(Mute()) == "Mute: no text, since that raised RuntimeError"


def test_an_object_of_another_type_than_a_module_lists_what_it_has():
    module = types.ModuleType("e2_made")
    module.thing = types.SimpleNamespace(one=1, two=2)
    sys.modules["e2_made"] = module
    try:
        with pytest.raises(SourceError, match="has no 'three'; it has one, two"):
            load("e2_made:thing.three")
    finally:
        del sys.modules["e2_made"]


def test_the_folder_of_the_start_is_searched_first(folder):
    (folder / "e2_first.py").write_text("WHERE = __file__\n")
    assert Path(load("e2_first:WHERE")).parent == folder
