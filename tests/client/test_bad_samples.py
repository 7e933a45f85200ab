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


def lines_of(caplog):
    return [record.getMessage().partition(" samples")[0] for record in caplog.records]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (1, 3, 2, 0), (0, 0, 1, 2, 2, 3), (0, 3, 1, 2)])
def test_threads_may_deliver_steps_in_any_order_and_again(caplog, order):
    bad = BadSamples(2, 4, "ipc:///here")
    with caplog.at_level(logging.WARNING):
        for step in order[:-1]:
            bad.count(0, step, 10, 1 if step in (1, 3) else 0)
            assert not caplog.records or set(order[: order.index(step) + 1]) >= {1, 2, 3}
        bad.count(0, order[-1], 10, 1 if order[-1] in (1, 3) else 0)
    assert len(lines_of(caplog)) == 1
    assert lines_of(caplog)[0].startswith("epoch 0: 2 of ")


def test_an_epoch_that_was_resumed_tells_of_what_it_delivered(caplog):
    bad = BadSamples(None, 100, "ipc:///here")
    with caplog.at_level(logging.WARNING):
        for step in range(90, 100):
            bad.count(5, step, 4, step % 2)
    assert lines_of(caplog) == ["epoch 5: 5 of 40"]


@pytest.mark.parametrize("said_before", [0, 1, 2])
def test_an_epoch_whose_length_comes_out_later_ends_with_a_line_too(caplog, said_before):
    bad = BadSamples(None, 2**62, "ipc:///here")
    with caplog.at_level(logging.WARNING):
        for step in range(3):
            if step == said_before:
                bad.ends(0, 3)
            bad.count(0, step, 4, 1)
        assert lines_of(caplog) == ["epoch 0: 3 of 12"]
        bad.count(1, 0, 4, 1)
        bad.ends(1, 1)
    assert lines_of(caplog)[1:] == ["epoch 1: 1 of 4"]


def test_those_of_a_service_that_will_be_gone_are_named_themselves(caplog):
    bad = BadSamples(2, 4, None)
    for reason in ("no JPEG", "cut off", "no JPEG", "empty", "too large"):
        bad.name(reason)
    with pytest.raises(LoaderError) as caught:
        bad.count(0, 0, 4, 3)
    assert str(caught.value) == (
        "epoch 0, step 0: 3 samples of this epoch were bad and replaced, more than max_bad_samples=2; "
        "the latest: too large | empty | no JPEG: repair or remove their files, or raise max_bad_samples"
    )
    bad = BadSamples(None, 1, None)
    bad.name("no JPEG")
    with caplog.at_level(logging.WARNING):
        bad.count(0, 0, 4, 1)
    assert [record.getMessage() for record in caplog.records] == [
        "epoch 0: 1 of 4 samples were bad and replaced; the latest: no JPEG"
    ]
