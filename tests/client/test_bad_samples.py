"""Bad samples are counted by epoch, told of at its end, and an error when they are more than the budget."""

from __future__ import annotations

import logging

import pytest

from loader_client.bad_samples import BadSamples
from loader_service.errors import LoaderError


def test_an_epoch_with_bad_samples_ends_with_one_line(caplog):
    bad = BadSamples(None, 100, "ipc:///here")
    with caplog.at_level(logging.WARNING):
        for step in range(100):
            bad.count(3, step, 128, 5 if step == 7 else 0)
    assert [record.getMessage() for record in caplog.records] == [
        "epoch 3: 5 of 12,800 samples were bad and replaced; see `loader-service status ipc:///here`"
    ]


def test_an_epoch_without_bad_samples_ends_without_a_word(caplog):
    bad = BadSamples(0, 10, "ipc:///here")
    for step in range(10):
        bad.count(0, step, 4, 0)
    assert not caplog.records


def test_one_bad_sample_too_many_is_an_error_that_says_how_many_and_what_to_do():
    bad = BadSamples(5, 100, "ipc:///here")
    bad.count(2, 0, 4, 3)
    bad.count(2, 1, 4, 2)
    with pytest.raises(LoaderError, match=r"epoch 2, step 2: 6 samples .*max_bad_samples=5; .*status ipc:///here"):
        bad.count(2, 2, 4, 1)


def test_the_budget_is_for_each_epoch_and_a_step_fetched_again_counts_once():
    bad = BadSamples(3, 100, "ipc:///here")
    for epoch in range(4):
        bad.count(epoch, 0, 4, 2)
    for _ in range(3):
        bad.count(1, 0, 4, 2)
    bad.count(1, 1, 4, 1)
    with pytest.raises(LoaderError, match="epoch 1, step 2: 4 samples"):
        bad.count(1, 2, 4, 1)
