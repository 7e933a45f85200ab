"""What `--help` of each command says beside its options: examples, and the environment; and what a shell completes."""

from __future__ import annotations

import importlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import click
from click.shell_completion import CompletionItem

from loader_service import endpoint as endpoints
from loader_service.protocol.near_names import nearest
from loader_service.protocol.spec import Clip, Image, Spec

#: Variables of the environment, by the groups that commands name.
_VARIABLES = {
    "endpoint": (("LOADER_SERVICE_ENDPOINT", "where the service listens, unless it is named"),),
    "place": (("XDG_RUNTIME_DIR", "where the default endpoint is"),),
    "shm": (("LOADER_SERVICE_SHM", "tmpfs for batches, of trainers too"),),
    "cache": (("XDG_CACHE_HOME", "where what was found in files is kept"),),
    "stores": (("AWS_…, GOOGLE_…, AZURE_…", "credentials of object stores"),),
    "web": (("LOADER_SERVICE_WEB_TOKEN", "the page's token, for a link that stays good"),),
    "temporary": (("TMPDIR", "where temporary files go"),),
    "filters": (("HDF5_PLUGIN_PATH", "folder of HDF5's further compressions"),),
}
_ASKS = ("endpoint", "place")
_READS = ("cache", "stores")

#: Of each command, its examples and the groups of variables that it reads; a command may have examples of its own.
_COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "start": (
        (
            "loader-service start 'data/train/*.h5'",
            "loader-service start 'data/*.h5' --split train --workers 2..16",
            "loader-service start 's3://bucket/train/*.h5' --local-copy 200G:/scratch",
            "loader-service start --source my_package.scenes:Scenes --workers 8",
            "loader-service start 'data/*.h5' --web 127.0.0.1:8321",
        ),
        (*_ASKS, "shm", *_READS, "web"),
    ),
    "status": (("loader-service status", "loader-service status --json | jq .workers_wanted"), _ASKS),
    "catalog": (("loader-service catalog", "loader-service catalog ipc:///run/loader/socket --json"), _ASKS),
    "scale": (
        (
            "loader-service scale 12",
            "loader-service scale 2..16",
            "loader-service scale auto",
            "loader-service scale --ray 0..64",
        ),
        _ASKS,
    ),
    "web": (("loader-service web", "loader-service web --listen 127.0.0.1:9000 --control"), (*_ASKS, "web")),
    "stop": (("loader-service stop", "loader-service stop ipc:///run/loader/socket --timeout 60"), (*_ASKS, "shm")),
    "restart": (("loader-service restart",), _ASKS),
    "inspect": (
        (
            "loader-service inspect 'data/*.h5'",
            "loader-service inspect 'data/*.h5' --check",
            "loader-service inspect 'data/*.h5' --toml > schema.toml",
            "loader-service inspect 'data/*.h5' --contact-sheet out.png",
        ),
        _READS,
    ),
    "demo": (("loader-service demo", "loader-service demo --videos 100 --epochs 2"), ("temporary",)),
    "join": (
        (
            "loader-service join images.h5 labels.h5 -o joined.h5",
            "loader-service join 'image/*.h5' 'mask/*.h5' --by numbers -o joined",
        ),
        ("filters",),
    ),
    "flatten": (("loader-service flatten table.h5 -o flat.h5",), ("filters",)),
    "pack": (
        (
            "loader-service pack films/ -o films.h5 --short-side 256",
            "loader-service pack photos/ -o photos.h5 --shards 16 --shuffle 0",
            "loader-service pack s3://bucket/train-000.tar -o train.h5",
            "loader-service pack old.h5 -o new.h5 --check",
        ),
        ("temporary",),
    ),
    "unpack": ((), _READS),
    "completion": (
        (
            'eval "$(loader-service completion bash)"   # in ~/.bashrc',
            'eval "$(loader-service completion zsh)"    # in ~/.zshrc',
            "loader-service completion fish | source   # in ~/.config/fish/config.fish",
        ),
        (),
    ),
    "top": (("loader-service top",), _ASKS),
    "ps": (("loader-service ps",), ("place",)),
}

#: Names of parameters that are files.
_FILES = frozenset({"files", "sources", "labels", "classes", "class_files", "schema", "output", "out", "cache_dir"})


class CompletedText(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in some versions of click only
    """A text of which a shell completes the beginning: names of files, or endpoints of services that run."""

    name = "text"

    def __init__(self, *, is_endpoint: bool) -> None:
        self._is_endpoint = is_endpoint

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's interface
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return what the text may become."""
        if not self._is_endpoint:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(each) for each in running_endpoints() if each.startswith(incomplete)]


#: Options of streams, which are given in Python, with the calls that take them.
_OF_STREAMS = {
    **{each.name: f"image=Image({each.name}=…)" for each in fields(Image)},
    **{each.name: f"clip=Clip({each.name}=…)" for each in fields(Clip)},
    **{each.name: f"{each.name}=…" for each in fields(Spec)},
}

#: How messages of click begin that say what is wrong, and not what is right.
_WITHOUT_REMEDY = ("No such ", "Missing ", "Got unexpected ")


def _hint(error: click.UsageError) -> str:
    """Return a message that helps more than that of an error; "" where that says it all."""
    said, context = error.format_message(), error.ctx
    if isinstance(error, click.NoSuchOption) and context is not None:
        name = error.option_name.lstrip("-").replace("-", "_")
        if name == "endpoint" and _takes_endpoint(context.command):
            return f"{said} Give the endpoint alone: {context.command_path} ipc:///path/to/socket"
        if name.isdecimal():
            return f"{error.option_name} is below 0; give 1 or more"
        if name in _OF_STREAMS and context.command.name == "start":
            given = f"loader_client.dataset({_OF_STREAMS[name]})"
            return f"No such option {error.option_name!r}. It is of streams: give it in Python, as {given}"
    if said.startswith("No such command") and context is not None and isinstance(context.command, click.Group):
        given, commands = said.split("'")[1], context.command.list_commands(context)
        if (meant := nearest(given, commands)) is not None:
            return f"No such command {given!r}. Did you mean {meant!r}? See `{context.command_path} --help`"
    if said.startswith(_WITHOUT_REMEDY) and "Did you mean" not in said:
        return f"{said} See `{context.command_path if context else 'loader-service'} --help`"
    return ""


class CommandGroup(click.Group):
    """The commands, with all that their help and a shell's completion need.

    Parameters
    ----------
    places
        Where commands are, as ``package.module:name``; each is imported when it is asked for.
    """

    def __init__(self, *arguments: Any, places: Mapping[str, str], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._places = places

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported."""
        if cmd_name in self._places and cmd_name not in self.commands:
            module, _, name = self._places[cmd_name].partition(":")
            self.add_command(getattr(importlib.import_module(module), name))
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in order."""
        return sorted(self.every_command(ctx))

    def every_command(self, ctx: click.Context | None = None) -> Mapping[str, click.Command]:
        """Return all commands by name, imported."""
        for name in self._places:
            self.get_command(ctx or click.Context(self), name)
        return self.commands

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with its examples and its environment."""
        super().add_command(cmd, name)
        examples, groups = _COMMANDS.get(name or cmd.name or "", ((), ()))
        parts = ((cmd.epilog or "").strip(), _section("Examples", examples), _environment(groups))
        cmd.epilog = "\n\n".join(filter(None, parts)) or None
        for param in cmd.params:
            _complete(param)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; who writes what it does not take is told what helps."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            hint = _hint(error)
            if hint:
                raise click.UsageError(hint, error.ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with its whole first sentence."""
        rows = [(name, _first_sentence(command)) for name, command in sorted(self.every_command(ctx).items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _takes_endpoint(command: click.Command) -> bool:
    return any(isinstance(each, click.Argument) and each.name == "endpoint" for each in command.params)


def running_endpoints() -> list[str]:
    """Return the endpoints of this user's default place at which there is a socket."""
    try:
        with os.scandir(endpoints.runtime_directory()) as entries:
            found = [each.path for each in entries if stat.S_ISSOCK(each.stat(follow_symlinks=False).st_mode)]
    except OSError:
        return []
    return sorted(f"ipc://{path}" for path in found if not path.endswith(".workers"))


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, files and endpoints."""
    kind = click.shell_completion.get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"this click knows no completion for {shell}; update click")
    maker = kind(context.find_root().command, {}, "loader-service", "_LOADER_SERVICE_COMPLETE")
    click.echo(maker.source_template % maker.source_vars())


def _complete(param: click.Parameter) -> None:
    """Have a shell complete a parameter that is a text."""
    if param.type is click.STRING and (param.name == "endpoint" or param.name in _FILES):
        param.type = CompletedText(is_endpoint=param.name == "endpoint")


def _section(title: str, lines: Sequence[str]) -> str:
    """Return lines that are shown as they are."""
    return "\n".join(["\b", f"{title}:", *(f"  {line}" for line in lines)]) if lines else ""


def _environment(groups: Sequence[str]) -> str:
    variables: list[tuple[str, str]] = [each for group in groups for each in _VARIABLES[group]]
    width = max((len(name) for name, _ in variables), default=0)
    return _section("Environment", [f"{name:<{width}}  {text}" for name, text in variables])


def _first_sentence(command: click.Command) -> str:
    """Return the first paragraph of a command's help in one line."""
    first: Any = (command.help or "").strip().partition("\n\n")[0]
    return " ".join(first.split())
