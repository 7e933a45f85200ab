"""What MkDocs calls while it builds the site: adds pages made of the code, pictures, and pages that nobody named."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from website.command_pages import commands_page  # noqa: E402 - MkDocs runs this file by its path
from website.error_pages import errors_page  # noqa: E402
from website.status_pages import status_page  # noqa: E402

#: Pictures that lie elsewhere, by the folder that pages name.
_PICTURES = ROOT / "benchmarks" / "results"

#: Where pages that the navigation does not name are put.
_SECTION = "How to"

#: Links that leave docs/, and what they become.
_OUTSIDE = (
    (re.compile(r"\]\(\.\./benchmarks/results/"), "](results/"),
    (re.compile(r"\]\(\.\./README\.md(#[\w-]*)?\)"), "](index.md)"),
    (
        re.compile(r"\[([^\]]*)\]\((?:\.\./)+((?:CONTRIBUTING|CHANGELOG)\.md|(?:tests|examples|deploy)/[^)]*)\)"),
        r"\1 (`\2`)",
    ),
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name all pages of docs/: one that is new is found under "How to" until it has a better place."""
    named = set(_paths(config.nav))
    section = next(each[_SECTION] for each in config.nav or [] if _SECTION in each)
    for path in sorted(Path(config.docs_dir).rglob("*.md")):
        name = path.relative_to(config.docs_dir).as_posix()
        if name not in named:
            section.append(name)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of the code, and the pictures of the benchmarks."""
    pages = {"cli": commands_page, "errors": errors_page, "metrics": status_page}
    for name, page in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=page()))
    for picture in sorted(_PICTURES.glob("*.png")):
        files.append(File.generated(config, f"results/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Have links that leave docs/ lead somewhere."""
    for pattern, instead in _OUTSIDE:
        markdown = pattern.sub(instead, markdown)
    return markdown


def _paths(nav: Any) -> list[str]:
    """Return the pages of a part of the navigation."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav or []
    return [path for part in parts for path in _paths(part)]
