"""Has another process look at a user's own source and transform, and makes a source's catalog; imports no such code."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from loader_service.catalog.columns import Catalog
from loader_service.catalog.source_rows import catalog_of_source
from loader_service.children import SAME_EVERYWHERE, command, environment
from loader_service.config import MAX_SOURCE_LENGTH, ServiceConfig
from loader_service.errors import ConfigError
from loader_service.worker.python_source import SourceOptions
from loader_service.worker.source_process import catalog_fields, facts_from

_LOG = logging.getLogger(__name__)


def source_options(config: ServiceConfig) -> SourceOptions | None:
    """Return what workers are told of the source; None when files are served."""
    if config.source is None:
        return None
    return SourceOptions(config.source, config.source_arg, config.source_seed)


def catalog_of(options: SourceOptions, config: ServiceConfig) -> Catalog:
    """Return the catalog of a source.

    Raises
    ------
    ConfigError
        When the source cannot be used; says what the user's code raised, or returned.
    """
    what = f"source {options.reference!r}"
    arguments = [f"--source={json.dumps(asdict(options))}"]
    if config.transform is not None:
        arguments.append(f"--transform={config.transform}")
    facts = facts_from(_examine(what, arguments, config.scan_timeout))
    length = facts.length
    if facts.kind == "generator":
        length = config.source_length or MAX_SOURCE_LENGTH
    elif config.source_length:
        raise ConfigError(
            f"source_length={config.source_length} is for generators, and {options.reference!r} has {length} items of "
            "its own; leave it out"
        )
    if facts.left_out:
        _LOG.warning("the last item of %r has fewer rows than the others, and is left out", options.reference)
    fingerprint = hashlib.blake2b(json.dumps([asdict(options), asdict(facts), length]).encode(), digest_size=16)
    return catalog_of_source(options.reference, length, catalog_fields(facts), facts.kind, fingerprint.hexdigest())


def check_transform(config: ServiceConfig) -> None:
    """Make sure that the transform of a service of files can be had; that of a source is looked at with the source.

    Raises
    ------
    ConfigError
        When it cannot.
    """
    if config.transform is not None and config.source is None:
        _examine(f"transform {config.transform!r}", [f"--transform={config.transform}"], config.scan_timeout)


def _examine(what: str, arguments: Sequence[str], timeout_s: float) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command("loader_service.worker.source_process", "--parent-pid", str(os.getpid()), *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            env={**SAME_EVERYWHERE, **environment()},
            start_new_session=True,  # Ctrl-C at the terminal is for the process that waits for this one
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigError(
            f"{what} gave nothing within {timeout_s:g} s; make it faster, or raise --scan-timeout"
        ) from error
    for line in done.stderr.splitlines():
        _LOG.info("%s says: %s", what, line)
    if not done.stdout:
        last_words = next(reversed(done.stderr.split("\n")[:-1]), "nothing")
        raise ConfigError(
            f"the process that looked at {what} ended with code {done.returncode}, saying {last_words.strip()!r}; "
            "its code must not end the process"
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise ConfigError(answer["error"])
    return answer
