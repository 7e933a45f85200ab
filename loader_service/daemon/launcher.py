"""A private service: started as a process of its own, started again when it dies, and ended; runs in the trainer."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence

from loader_service import endpoint as endpoints
from loader_service.daemon.restarts import Restarts
from loader_service.daemon.segments import remove_abandoned
from loader_service.daemon.service_process import EndedBeforeReady, Interrupted, ServiceProcess
from loader_service.daemon.sockets import EndpointLock
from loader_service.errors import ConfigError, LoaderError, ServiceUnavailable
from loader_service.start_command import start_words

_LOG = logging.getLogger(__name__)

#: Restarts in a row, and how long a service must have served for those before it to count no more, in seconds. What
#: kills a service that often within minutes is no accident, and will kill the next one too.
MOST_RESTARTS, _FORGIVEN_AFTER_S = 3, 600.0

#: How long `stop` waits for the thread that ends the service, in seconds: longer than that takes.
_JOIN_S = 20.0


class PrivateService:
    """A service for this process alone: it watches this process and ends with it, however that ends.

    A thread watches the service in turn. When it dies it is started again, at the same endpoint and with the same
    options, up to `MOST_RESTARTS` times in a row (`Restarts`); its clients go on at the same step. After that, or when
    it cannot start any more, who listens is told why. That thread alone deals with the process once it was ready, and a
    forked child does not have it: so no child ever starts or ends a service of its parent's.

    Parameters
    ----------
    files
        File names or patterns.
    options
        More options of ``loader-service start``, by name without dashes: ``{"workers": "4"}``. A list gives its option
        several times; a flag is given by ``"True"``.
    timeout_s
        How long it may take to be ready; scanning many files takes minutes the first time.
    progress
        Called with the number of files that have been scanned, and of all, while it starts for the first time.

    Raises
    ------
    LoaderError
        What the service said was wrong, under the class it had there.
    ServiceUnavailable
        When it was not ready in time, or ended without a word.
    """

    def __init__(
        self,
        files: Sequence[str],
        options: Mapping[str, str | Sequence[str]],
        timeout_s: float,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self._owner_pid = os.getpid()  # asked once: a signal handler may fork from here on
        name = f"private-{self._owner_pid}-{secrets.token_hex(4)}.sock"
        self._place = endpoints.Endpoint(endpoints.runtime_directory() / name)
        self.endpoint = str(self._place)
        self._command = _command(self.endpoint, self._owner_pid, files, options)
        self._timeout_s = timeout_s
        self._restarts = Restarts(MOST_RESTARTS, _FORGIVEN_AFTER_S)
        self._ready_at: float | None = None  # None while it starts
        self._failure: LoaderError | None = None
        self._tell: Callable[[LoaderError], object] | None = None
        self._stopping = False
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # Not closed by `stop`, which may be called again.
        weakref.finalize(self, os.close, self._wake).atexit = False
        self._process = ServiceProcess(self._command, self._owner_pid, progress)
        try:
            self._process.await_ready(timeout_s, self._wake)
        except BaseException as error:
            self._leave()
            if isinstance(error, EndedBeforeReady):
                raise ServiceUnavailable(f"the private service {error}, before it was ready") from None
            raise
        self._ready_at = time.monotonic()
        self._thread = threading.Thread(target=self._keep, name="loader-service-keeper", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The service's pid; another one after a restart."""
        return self._process.pid

    @property
    def up_s(self) -> float:
        """Seconds since it was ready; 0 while it is started again."""
        ready_at = self._ready_at
        return 0.0 if ready_at is None else time.monotonic() - ready_at

    def check_owner(self) -> None:
        """Raise LoaderError in a forked child of this process, whose service it is not."""
        self._process.check_owner()

    def on_failure(self, tell: Callable[[LoaderError], object]) -> None:
        """Have `tell` called, in any thread and perhaps twice, when the service is gone for good."""
        self._tell = tell
        if self._failure is not None:
            tell(self._failure)

    def stop(self) -> None:
        """End the service; harmless when it has ended, and in a forked child."""
        if os.getpid() != self._owner_pid:
            return
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        if threading.current_thread() is not self._thread:  # a finalizer may run in any
            self._thread.join(_JOIN_S)

    # ---- the keeper's thread

    def _keep(self) -> None:
        try:
            while not self._stopping:
                self._process.await_end(self._wake)
                served_s, self._ready_at = self.up_s, None
                self._revive(self._process.cause, served_s)
        except Interrupted:
            pass
        except LoaderError as error:
            self._fail(error)
        except BaseException as error:
            self._fail(ServiceUnavailable(f"the private service is not watched any more: {error!r}"))
            raise
        finally:
            self._leave()

    def _revive(self, cause: str, served_s: float) -> None:
        """Start the service again, until it lives.

        Raises
        ------
        LoaderError
            When that has no end, or the service says what is wrong.
        """
        while self._restarts.allow(served_s):
            _LOG.warning(
                "the private service (pid %d) %s; it is started again (%d of %d times)",
                self._process.pid,
                cause,
                self._restarts.in_a_row,
                MOST_RESTARTS,
            )
            self._process.end()
            try:
                self._process = ServiceProcess(self._command, self._owner_pid)
                self._process.await_ready(self._timeout_s, self._wake)
            except EndedBeforeReady as error:
                cause, served_s = str(error), 0.0
            except (LoaderError, OSError) as error:  # OSError: no process, memory or descriptor is left for it
                kind = type(error) if isinstance(error, LoaderError) else ServiceUnavailable
                raise kind(f"the private service {cause}, and could not be started again: {error}") from error
            else:
                self._ready_at = time.monotonic()
                return
        raise ServiceUnavailable(
            f"the private service {cause}; it was started again {MOST_RESTARTS} times in a row before, and is given "
            "up; find out what ends it, and make the dataset or connection anew"
        )

    def _fail(self, error: LoaderError) -> None:
        self._failure = error
        if self._tell is not None:
            self._tell(error)

    def _leave(self) -> None:
        """End the process, and remove what it left, or one before it, unless it has done that itself."""
        self._process.end()
        if self._process.code == 0 and self._ready_at is not None:
            return
        with contextlib.suppress(OSError, ConfigError):  # the next start of any service tidies up as well
            with EndpointLock(self._place):
                pass
            remove_abandoned()


def _command(
    endpoint: str, owner_pid: int, files: Sequence[str], options: Mapping[str, str | Sequence[str]]
) -> list[str]:
    own = {"embedded": "True", "lifeline_pid": str(owner_pid), "endpoint": endpoint}
    own["terminal"] = str(os.isatty(2))  # what it says there passes through a pipe
    return start_words({**own, **options}, files=files)
