"""A node must see the files of the training host: the same sizes and times at the same paths."""

from __future__ import annotations

import os
import shutil
from contextlib import closing

import pytest

from loader_service.catalog.scan.catalog_scan import scan
from loader_service.errors import CatalogError
from loader_service.protocol.worker_messages import AdoptFile
from loader_service.remote.node_files import NodeFiles
from loader_service.scan_options import ScanOptions


@pytest.fixture
def catalog(small_videos, tmp_path):
    """A catalog of files that a test may change."""
    shutil.copytree(small_videos, tmp_path / "data")
    with closing(scan((str(tmp_path / "data" / "*.h5"),), ScanOptions(), cache_dir=tmp_path / "cache")) as made:
        yield made


def adoption(file, status):
    return AdoptFile(file, status.st_size, status.st_mtime_ns, status.st_ino)


def test_a_file_that_is_not_there_is_named_with_its_node(catalog):
    os.unlink(catalog.file_path(1))
    with pytest.raises(CatalogError, match=rf"node n1 does not see 1 of 3 files, such as '{catalog.file_path(1)}'"):
        NodeFiles(catalog, "n1")


def test_another_inode_is_the_same_file_and_another_time_is_none(catalog):
    path = catalog.file_path(2)
    before = os.stat(path)
    shutil.copy2(path, path + "x")
    os.utime(path + "x", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(path + "x", path)
    files = NodeFiles(catalog, "n1")
    files.check()
    assert [(file, seen.inode) for file, seen in files.renumbered] == [(2, os.stat(path).st_ino)]
    os.utime(path, ns=(1, 1))
    with pytest.raises(CatalogError, match=r"node n1 sees another file at .*part2\.h5' than the training host"):
        NodeFiles(catalog, "n1").check()


def test_a_file_that_changed_is_taken_when_the_training_host_says_what_the_node_sees(catalog):
    path = catalog.file_path(0)
    os.utime(path, ns=(5, 5))
    files = NodeFiles(catalog, "n1")
    assert files.adopted(adoption(0, os.stat(path))).mtime_ns == 5
    files.check()
    other = AdoptFile(0, os.stat(path).st_size, 6, 1)
    assert files.adopted(other) is None
    with pytest.raises(CatalogError, match="sees another file"):
        files.check()
    os.unlink(path)
    with pytest.raises(CatalogError, match=r"node n1 does not see .*part0\.h5' any more"):
        files.check()
