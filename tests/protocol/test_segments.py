"""Where slots lie: names follow from checked parts, and what is mapped is what the layout says."""

from __future__ import annotations

import mmap

import pytest

from loader_service.errors import ProtocolError, ServiceUnavailable
from loader_service.protocol import segment_files

INSTANCE = "0123456789abcdef"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(segment_files.ENVIRONMENT_VARIABLE, str(tmp_path))
    folder = segment_files.instance_directory(INSTANCE)
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    "instance", ["", "../../etc", "0123456789ABCDEF", "0123456789abcde", INSTANCE + "\n", INSTANCE + "/"]
)
def test_an_instance_that_is_no_16_hexadecimal_digits_is_refused(instance):
    with pytest.raises(ProtocolError, match="16 hexadecimal digits"):
        segment_files.segment_path(instance, 1)


def test_a_mapping_is_shared_and_outlives_the_file(folder):
    path = folder / "slot-3"
    path.write_bytes(bytes(4096))
    with segment_files.map_segment(INSTANCE, 3, 4096) as one, segment_files.map_segment(INSTANCE, 3, 4096) as other:
        assert isinstance(one, mmap.mmap)
        path.unlink()
        one[5] = 9
        assert other[5] == 9


def test_a_segment_that_is_not_there_is_named(folder):
    with pytest.raises(ServiceUnavailable, match=r"cannot map slot 4: .*slot-4: No such file"):
        segment_files.map_segment(INSTANCE, 4, 4096)


def test_a_segment_of_another_size_is_refused(folder):
    (folder / "slot-5").write_bytes(bytes(100))
    with pytest.raises(ServiceUnavailable, match=r"slot 5 .* has 100 bytes, its stream's layout 4096"):
        segment_files.map_segment(INSTANCE, 5, 4096)


def test_a_link_is_not_followed(folder, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(4096))
    (folder / "slot-6").symlink_to(tmp_path / "secret")
    with pytest.raises(ServiceUnavailable, match="cannot map slot 6"):
        segment_files.map_segment(INSTANCE, 6, 4096)
