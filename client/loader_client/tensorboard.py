"""Writes for TensorBoard how long a trainer waited; of TensorFlow it uses nothing but summaries."""

from __future__ import annotations

import os

from loader_client.stream_figures import StreamFigures
from loader_client.tensorflow_module import tf

#: What TensorBoard draws as a line.
_SCALAR = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"), data_class="DATA_CLASS_SCALAR"
)


class FigureWriter:
    """Writes to a folder of TensorBoard. Used by one thread.

    Parameters
    ----------
    log_dir
        The folder; made when it is not there.

    Examples
    --------
    In a training loop of your own:

    >>> writer = FigureWriter("logs")  # doctest: +SKIP
    >>> before = stream.figures  # doctest: +SKIP
    >>> writer.write(stream.figures.since(before), step)  # doctest: +SKIP
    """

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        self._writer = tf.summary.create_file_writer(os.fspath(log_dir))

    def write(self, figures: StreamFigures, step: int) -> None:
        """Write ``loader/waiting_share``, ``loader/frames_per_s``, ``loader/steps_per_s`` of some time, at a step."""
        with self._writer.as_default(step=step):
            for name in ("waiting_share", "frames_per_s", "steps_per_s"):
                # Not `tf.summary.scalar`, which needs the package of TensorBoard where the training runs.
                tf.summary.write(f"loader/{name}", tf.constant(getattr(figures, name), tf.float32), metadata=_SCALAR)

    def flush(self) -> None:
        """Have all that was written be on disk."""
        self._writer.flush()
