"""Makes the keys of a run and opens its port, and puts into options what receiver and remote workers need of both."""

from __future__ import annotations

import logging
from contextlib import ExitStack

from loader_service.catalog.columns import Catalog
from loader_service.cluster_options import ListenAddress
from loader_service.config import ServiceConfig
from loader_service.remote.listening import is_for_this_host, listen
from loader_service.remote.remote_options import ReceiverOptions, RemoteWorkerOptions, own_versions
from loader_service.remote.run_keys import RunKeys
from loader_service.url_secrets import kept_secrets

_LOG = logging.getLogger(__name__)


def open_port(
    stack: ExitStack, known_as: str, config: ServiceConfig, workers_address: str, instance: str, catalog: Catalog
) -> ReceiverOptions:
    """Open the port of a service; return what its receivers are told.

    Parameters
    ----------
    stack
        Closes the port.
    known_as
        The address by which the cluster knows this host.
    config
        May name another one.
    workers_address, instance, catalog
        Where the daemon listens for workers, its segments, and what the files hold.

    Raises
    ------
    ConfigError
        When the port cannot be opened, or nothing encrypts.
    """
    keys = RunKeys.make(encrypt=not config.no_encrypt)
    at = ListenAddress(known_as) if config.listen is None else ListenAddress.parse(config.listen)
    listening = listen(at)
    stack.enter_context(listening.socket)
    if listening.is_for_this_host and not is_for_this_host(known_as):
        _LOG.warning(
            "listen=%r is %s, which no other host reaches; name the address by which nodes of the cluster know this "
            "host, such as --listen %s",
            at.host,
            listening.address,
            known_as,
        )
    return ReceiverOptions(
        receiver=1,
        workers_address=workers_address,
        instance=instance,
        address=listening.address,
        descriptor=listening.socket.fileno(),
        keys=keys,
        catalog=catalog.fingerprint,
        files=catalog.file_count,
    )


def worker_options(receiver: ReceiverOptions, catalog_folder: str, task_timeout: float) -> RemoteWorkerOptions:
    """Return what remote workers of a run are told."""
    return RemoteWorkerOptions(
        address=receiver.address,
        keys=receiver.keys.without_receiver_secret(),
        **own_versions(),
        catalog=receiver.catalog,
        task_timeout=task_timeout,
        catalog_folder=catalog_folder,
        url_secrets=kept_secrets(),
    )
