"""A text is a URL of objects or it is not, and a pattern matches what a shell's would."""

from __future__ import annotations

import pytest

from loader_service.stores.urls import is_url, matches, parse_url


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("s3://bucket/a/b.h5", ("s3", "bucket", "a/b.h5")),
        ("S3a://bucket/a.h5", ("s3", "bucket", "a.h5")),
        ("gcs://bucket/*.h5", ("gs", "bucket", "*.h5")),
        ("abfss://box@account.dfs.core.windows.net/a.h5", ("az", "box@account.dfs.core.windows.net", "a.h5")),
        ("https://host:8080/a%20b.h5", ("https", "host:8080", "a%20b.h5")),
        ("s3://bucket", ("s3", "bucket", "")),
        ("hf://datasets/a/b/c.h5", ("hf", "datasets", "a/b/c.h5")),
    ],
)
def test_parts_of_a_url(text, parts):
    assert parse_url(text) == parts


@pytest.mark.parametrize(
    "text", ["/data/a.h5", "a.h5", "ipc:///run/x", "file:///a.h5", "ipfs://a/b", "s3:/a", "s3:///a"]
)
def test_other_texts_are_none(text):
    assert parse_url(text) is None
    assert not is_url(text)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [("a/b/*.h5", "a/b/"), ("a/b?/c.h5", "a/"), ("*.h5", ""), ("a/**/c.h5", "a/"), ("a/[xy]/c", "a/")],
)
def test_only_what_lies_in_the_pattern_s_folder_is_listed(pattern, prefix):
    assert parse_url(f"s3://bucket/{pattern}").listed_prefix == prefix


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("a/*.h5", "a/b.h5", True),
        ("a/*.h5", "a/b/c.h5", False),
        ("a/**/c.h5", "a/c.h5", True),
        ("a/**/c.h5", "a/x/y/c.h5", True),
        ("a/?.h5", "a/bc.h5", False),
        ("a/[b-d].h5", "a/c.h5", True),
        ("a/[!b-d].h5", "a/c.h5", False),
        ("a/b.h5", "a/bxh5", False),
    ],
)
def test_patterns(pattern, key, expected):
    assert matches(key, pattern) is expected
