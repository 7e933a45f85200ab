"""An option of a scan is declared once: command line and cache keys follow, and none can be forgotten."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace

import click
import pytest
from click.testing import CliRunner

from loader_service.cli import cli
from loader_service.click_options import options_of
from loader_service.errors import ConfigError
from loader_service.option_fields import build, option
from loader_service.record_class import record
from loader_service.scan_options import ScanOptions
from loader_service.schema import Schema, SchemaField
from tests.support.catalogs import catalog_of
from tests.support.videos import make_videos, write_videos

#: Another value of each option; one that is declared and not here fails.
OTHER = {
    "frames": "*/rgb",
    "label": "@kind",
    "labels": "labels.csv",
    "classes": ("classes.txt",),
    "schema": Schema(("groups",), (SchemaField("rgb", "image", ("{video}",)),)),
    "split": "train",
    "on_bad_file": "skip",
    "allow_external": True,
    "scan_timeout": 5.0,
}

#: Options that change no file's scan: what is skipped is decided later, and a file that took too long has none.
_UNDECIDING = {"on_bad_file", "scan_timeout"}


def names():
    return [each.name for each in fields(ScanOptions)]


@pytest.mark.parametrize("name", names())
def test_each_option_that_decides_what_is_found_changes_the_key(name):
    changed = replace(ScanOptions(), **{name: OTHER[name]})
    assert (changed.key() != ScanOptions().key()) == (name not in _UNDECIDING)


@pytest.mark.parametrize("command", ["start", "inspect"])
@pytest.mark.parametrize("name", names())
def test_each_option_is_in_the_help_of_start_and_inspect(command, name):
    told = CliRunner().invoke(cli, [command, "--help"])
    assert f"--{name.replace('_', '-')} " in told.output


@record(frozen=True)
class MoreOptions(ScanOptions):
    """Options as they are when somebody has added one, and done nothing else."""

    every_nth: int = option(1, "Which frames count.")


@dataclass(frozen=True)
class MoreConfig:
    """A configuration that holds them, beside an option of its own."""

    scan: MoreOptions = field(default_factory=MoreOptions)
    workers: int = option(0, "How many.")


def test_an_option_that_is_added_needs_nothing_but_its_declaration(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([3]))
    catalogs = [catalog_of(tmp_path, options=MoreOptions(every_nth=number)) for number in (1, 2, 2)]
    assert catalogs[0].directory != catalogs[1].directory == catalogs[2].directory
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == 2  # each file was scanned anew, too

    @click.command()
    @options_of(MoreConfig)
    def start(**options):
        click.echo(build(MoreConfig, options).scan.key())

    told = CliRunner().invoke(start, ["--every-nth=3", "--workers=2"])
    assert json.loads(told.output)["every_nth"] == 3
    assert "Which frames count." in CliRunner().invoke(start, ["--help"]).output


def test_another_process_is_told_all_options(tmp_path):
    told = ScanOptions(label="@kind", on_bad_file="skip", scan_timeout=5.0, schema=OTHER["schema"])
    assert ScanOptions(**json.loads(json.dumps(asdict(told)))) == told


def test_a_schema_counts_by_what_it_says_and_not_by_its_path(tmp_path):
    text = '[[field]]\nname = "rgb"\nkind = "image"\ndataset = "frames"\n'
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(text)
    first, second = (ScanOptions(schema=str(tmp_path / name)) for name in ("a.toml", "b.toml"))
    assert first == second
    (tmp_path / "b.toml").write_text(text.replace("rgb", "frames_of_it"))
    assert ScanOptions(schema=str(tmp_path / "b.toml")).key() != first.key()


def test_an_option_that_does_not_exist_is_no_configuration():
    with pytest.raises(TypeError, match="colour"):
        build(MoreConfig, {"colour": 1})


def test_values_out_of_range_are_named():
    with pytest.raises(ConfigError, match="scan_timeout=0"):
        ScanOptions(scan_timeout=0)
