"""Remote workers in the core: they come by themselves, get a number, and are workers as any other."""

from __future__ import annotations

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.core.ledger import Limits
from loader_service.protocol import messages as m
from tests.core.desk import TRAIN, Desk


def desk(workers: int = 1) -> Desk:
    made = Desk(workers=workers, limits=Limits(most_remote=8))
    made.open()
    return made


def scaled(made: Desk, count: int) -> list[a.Effect]:
    made.service.remote.scale(count, made.now)
    return made.happen(e.ClockTicked())


def test_one_that_comes_is_admitted_while_it_is_wanted_and_dismissed_when_it_is_not():
    made = desk()
    assert made.happen(e.RemoteCame(7, "n1")) == [a.DismissRemote(7)]
    assert a.PlaceRemote(1) in scaled(made, 1)
    assert made.happen(e.RemoteCame(8, "n1")) == [a.AdmitRemote(8, 2)]
    assert made.happen(e.RemoteCame(9, "n1")) == [a.DismissRemote(9)]


def test_it_gets_tasks_and_its_end_gives_them_to_others_but_starts_nobody():
    made = desk()
    scaled(made, 1)
    made.happen(e.RemoteCame(8, "n1"))
    made.ready(2)
    made.want(1)
    holders = {worker.worker: len(worker.tasks) for worker in made.service.scheduler.staff}
    assert sum(holders.values()) >= 1
    effects = made.happen(e.WorkerExited(2, "on node n1 said nothing for 1.5 s"))
    assert not any(isinstance(each, a.StartWorker) for each in effects)
    assert made.happen(e.RemoteCame(9, "n1")) == [a.AdmitRemote(9, 3)]
    made.service.validate()


def test_one_that_dies_before_it_is_ready_counts_as_no_failure_to_start():
    made = desk()
    scaled(made, 8)
    for arrival in range(6):
        ((admitted),) = made.happen(e.RemoteCame(arrival, "n1"))
        effects = made.happen(e.WorkerExited(admitted.worker, "was gone"))
        assert not any(isinstance(each, a.GiveUp) for each in effects)


def test_fewer_are_drained_and_the_others_stay():
    made = desk()
    scaled(made, 2)
    for arrival, worker in ((1, 2), (2, 3)):
        made.happen(e.RemoteCame(arrival, "n1"))
        made.ready(worker)
    assert a.Send(3, m.Drain()) in scaled(made, 1)
    assert made.service.scheduler.staff.working_here == 1
    assert made.service.scheduler.staff.missing == 0


def test_a_service_without_a_cluster_refuses_to_scale_it_and_one_with_it_says_what_it_does():
    without = Desk(workers=1)
    without.open()
    (refusal,) = [each.message for each in without.hear(TRAIN, m.ScaleRemote(4, 2)) if isinstance(each, a.Send)]
    assert "start it with --ray" in refusal.message
    made = desk()
    sent = [each.message for each in made.hear(TRAIN, m.ScaleRemote(4, 2)) if isinstance(each, a.Send)]
    assert sent == [m.Done(4, "0 → 2 remote workers")]
    (refusal,) = [each.message for each in made.hear(TRAIN, m.ScaleRemote(5, 9)) if isinstance(each, a.Send)]
    assert "give 0 to 8" in refusal.message


def test_only_a_remote_worker_can_be_given_one_task_at_a_time():
    made = desk()
    scaled(made, 1)
    made.happen(e.RemoteCame(8, "n1"))
    made.ready(2)
    staff = made.service.scheduler.staff
    for worker, depth in ((1, 2), (2, 1)):
        made.hear(worker, m.TasksWanted(worker, 1))
        assert staff.get(worker).depth == depth


def test_one_that_delivers_slowly_owns_less_and_the_same_again_when_it_is_as_fast():
    ownership = desk_with_paces(slow=2.0)
    assert ownership[2] < ownership[1]
    assert desk_with_paces(slow=1.1)[2] == desk_with_paces(slow=1.1)[1]


def desk_with_paces(slow: float) -> dict[int, int]:
    """Return how many files workers 1 and 2 own after tasks of which those of the remote one took so much longer."""
    made = Desk(workers=1, files=30, limits=Limits(most_remote=8))
    made.open(slots=2)
    scaled(made, 1)
    made.happen(e.RemoteCame(8, "n1"))
    made.ready(2)
    staff = made.service.scheduler.staff
    for _ in range(8):
        for number, seconds in ((1, 1.0), (2, slow)):
            worker = staff.get(number)
            worker.pace.begun(made.now)
            worker.pace.ended(10**6, made.now + seconds)
            staff._judge(worker)
    return {each.worker: made.service.scheduler.worker_status(each, 0, made.now).files for each in staff}
