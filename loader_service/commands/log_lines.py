"""Where the log goes and how its lines look: one line a fact, for people or for programs."""

from __future__ import annotations

import json
import logging
import logging.handlers
import time
from typing import Literal

from loader_service.errors import ConfigError
from loader_service.printable import one_line

LogFormat = Literal["text", "json"]


class TextLines(logging.Formatter):
    """Time, level and message, as people read them; what is no letter is escaped, so a fact stays one line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base class calls it so
        """Return the line of a record; a traceback may follow it."""
        record.message = one_line(record.message)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """One JSON object a line: ``time`` (UTC), ``level``, ``logger``, ``pid``, ``message``, and ``exception`` of one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        began = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{began}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up_log(kind: LogFormat, file: str | None, level: int) -> None:
    """Have this process log from a level on, to a file, or else to its standard error.

    A file is appended to, and opened anew when a program such as logrotate has moved it.

    Raises
    ------
    ConfigError
        When the file cannot be written.
    """
    handler: logging.Handler
    try:
        handler = (
            logging.StreamHandler() if file is None else logging.handlers.WatchedFileHandler(file, encoding="utf-8")
        )
    except OSError as error:
        raise ConfigError(f"log_file={file!r}: {error}; give a file in a folder that you may write to") from error
    handler.setFormatter(JsonLines() if kind == "json" else TextLines())
    logging.basicConfig(level=level, handlers=[handler])
