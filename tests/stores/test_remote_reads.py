"""Remote workers read files in stores too, and what is secret in their URLs reaches them with the keys of the run."""

from __future__ import annotations

import loader_client
from tests.remote.scene import remote_service, remote_workers, steps
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos

SIGNATURE = "X-Amz-Signature=5ec2e7f00d&expires=99"


def test_signed_files_are_read_by_remote_workers_as_by_those_of_the_host(server, tmp_path):
    names = [f"{number}.h5" for number in range(4)]
    for number, name in enumerate(names):
        write_videos(server.folder / name, "vlen", make_videos([12] * 6, seed=number))
    files = server.folder / "*.h5"
    with (
        running_service(files, cache_dir=tmp_path / "cache") as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        expected = list(steps(connection, epochs=2))
    server.signature = SIGNATURE
    urls = [f"{server.url(name)}?{SIGNATURE}" for name in names]
    with remote_service(*urls, cache_dir=tmp_path / "other") as (service, connection):
        assert list(steps(connection, epochs=2)) == expected
        (remote,) = remote_workers(connection)
        counters = {each.name: each.count for each in connection.status().counters}
        assert (counters["samples_bad"], counters["workers_lost"]) == (0, 0)
        assert remote.tasks_done > 0
        assert "5ec2e7f00d" not in service.log
