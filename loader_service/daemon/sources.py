"""Has another process look at a user's own source and transform, and makes a source's catalog; imports no such code."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from dataclasses import asdict
from typing import Any

from loader_service.catalog.columns import Catalog
from loader_service.catalog.scan.source_rows import catalog_of_source
from loader_service.children import SAME_EVERYWHERE, Child, command, environment
from loader_service.config import MAX_SOURCE_LENGTH, ServiceConfig
from loader_service.errors import ConfigError
from loader_service.lifeline import arguments_for
from loader_service.source_facts import Examined, SourceFacts, SourceOptions

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
    facts = SourceFacts.from_json(_examine(what, Examined(asdict(options), config.transform), config.scan.scan_timeout))
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
    return catalog_of_source(options.reference, length, facts.catalog_fields, facts.kind, fingerprint.hexdigest())


def check_transform(config: ServiceConfig) -> None:
    """Make sure that the transform of a service of files can be had; that of a source is looked at with the source.

    Raises
    ------
    ConfigError
        When it cannot.
    """
    if config.transform is not None and config.source is None:
        _examine(f"transform {config.transform!r}", Examined(None, config.transform), config.scan.scan_timeout)


def _examine(what: str, options: Examined, timeout_s: float) -> dict[str, Any]:
    words = command("loader_service.user_code.source_process", *arguments_for(options))
    said, errors = b"", b""
    deadline = time.monotonic() + timeout_s
    with Child(words, {**SAME_EVERYWHERE, **environment()}) as child:
        has_ended = False
        while not has_ended:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise ConfigError(
                    f"{what} gave nothing within {timeout_s:g} s; make it faster, or raise --scan-timeout"
                )
            child.listen(left_s)
            has_ended = child.code is not None  # before what it said last is read
            said, errors = said + child.out.read(), errors + child.errors.read()
        cause = child.cause()
    for line in errors.decode("utf-8", "replace").splitlines():
        _LOG.info("%s says: %s", what, line)
    if not said:
        raise ConfigError(f"the process that looked at {what} {cause}; its code must not end the process")
    answer: dict[str, Any] = json.loads(said)
    if "error" in answer:
        raise ConfigError(answer["error"])
    return answer
