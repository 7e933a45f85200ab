"""Steps are wanted before they are asked for, never too many, and none for iterators that were dropped."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from loader_client.session.lookahead import Claim, Lookahead, Position

#: Steps asked for by a living cursor until a dropped one counts as stale, with room to spare.
_LONG = 64


class Books:
    """A lookahead, and what a service would know of it: which wants are open and where each leads."""

    def __init__(self, steps_per_epoch: int, prefetch: int) -> None:
        self.steps_per_epoch = steps_per_epoch
        self.prefetch = prefetch
        self.open: dict[int, Position] = {}
        self._lookahead = Lookahead(steps_per_epoch, prefetch)
        self._used: set[int] = set()

    def claim(self, position: Position) -> Claim:
        """Ask for a step, check what any claim must keep to, and take the step's want out of the books."""
        claim = self._lookahead.claim(position)
        for want in claim.forgotten:
            del self.open[want]
        for want, where in claim.new:
            assert want not in self._used, "a want's number was used twice"
            assert 0 <= where[1] < self.steps_per_epoch
            self._used.add(want)
            self.open[want] = where
        assert self.open.pop(claim.want) == position
        assert len(set(self.open.values())) == len(self.open), "a step is wanted ahead twice"
        return claim

    def end(self, epochs: int) -> None:
        """Have nothing wanted from an epoch on."""
        self._lookahead.end(epochs)

    def following(self, position: Position) -> Iterator[Position]:
        """Yield the steps after one, through all epochs."""
        epoch, step = position
        while True:
            epoch, step = (epoch, step + 1) if step + 1 < self.steps_per_epoch else (epoch + 1, 0)
            yield epoch, step


_steps = st.integers(1, 12)
_prefetch = st.integers(1, 9)


@settings(max_examples=300)
@given(_steps, _prefetch, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11)), min_size=1, max_size=60))
def test_never_more_wants_are_out_than_the_prefetch(steps, prefetch, positions):
    books = Books(steps, prefetch)
    for epoch, step in positions:
        books.claim((epoch, step % steps))
        assert len(books.open) <= prefetch


class Slots:
    """A service that fills its slots in the order of the wants, and a trainer that keeps what it may."""

    def __init__(self, slots: int, steps_per_epoch: int) -> None:
        self._free = slots
        self._most_held = max(1, slots // 2)
        self._held = 0
        self._books = Books(steps_per_epoch, slots - slots // 2)
        self._order: dict[int, bool] = {}  # want → whether it has a slot, in the order in which they came
        self._waiting: set[int] = set()

    def ask(self, positions: list[Position]) -> None:
        """Ask for steps in as many threads at once, and let the service work until it can do nothing more."""
        for position in positions:
            claim = self._books.claim(position)
            for want in claim.forgotten:
                self._free += self._order.pop(want)
            self._order.update(dict.fromkeys((want for want, _ in claim.new), False))
            self._waiting.add(claim.want)
        while self._fill() or self._take():
            pass
        assert not self._waiting, "a step that was asked for never gets a slot"

    def let_go(self) -> None:
        """Drop all batches that the trainer keeps."""
        self._free += self._held
        self._held = 0

    def _fill(self) -> bool:
        waiting = [want for want, has_slot in self._order.items() if not has_slot][: self._free]
        self._order.update(dict.fromkeys(waiting, True))
        self._free -= len(waiting)
        return bool(waiting)

    def _take(self) -> bool:
        ready = [want for want in self._waiting if self._order[want]]
        for want in ready:
            self._waiting.remove(want)
            del self._order[want]
            if self._held < self._most_held:
                self._held += 1
            else:
                self._free += 1  # copied
        return bool(ready)


_asked = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11)), min_size=1, max_size=4, unique=True)


@settings(max_examples=400)
@given(_steps, st.integers(2, 9), st.lists(st.tuples(_asked, st.booleans()), min_size=1, max_size=40))
def test_however_few_the_slots_a_step_that_is_asked_for_gets_one(steps, slots, turns):
    """By any number of iterators and threads, and with all that the trainer may keep kept."""
    service = Slots(slots, steps)
    for asked, lets_go in turns:
        service.ask(list(dict.fromkeys((epoch, step % steps) for epoch, step in asked)))
        if lets_go:
            service.let_go()


@settings(max_examples=100)
@given(_prefetch, _prefetch, st.integers(0, 20))
def test_a_new_service_with_less_room_is_asked_for_less(before, after, steps):
    books = Books(10, before)
    for step in range(steps):
        books.claim(divmod(step, 10))
    for want in books._lookahead.resize(after):
        del books.open[want]
    assert len(books.open) <= after
    books.prefetch = after
    books.claim(divmod(steps, 10))
    books.claim(divmod(steps + 1, 10))
    assert len(books.open) == after


@settings(max_examples=200)
@given(_steps, _prefetch, st.integers(1, 40), st.integers(0, 2))
def test_a_single_reader_has_exactly_the_prefetch_wanted_and_waits_for_its_first_step_only(
    steps, prefetch, length, epoch
):
    books = Books(steps, prefetch)
    position = (epoch, 0)
    for number in range(length):
        claim = books.claim(position)
        following = books.following(position)
        assert sorted(books.open.values()) == [next(following) for _ in range(prefetch)]
        assert not claim.forgotten
        assert [where for _, where in claim.new][:1] == ([position] if number == 0 else [max(books.open.values())])
        position = next(books.following(position))


def test_the_turn_of_an_epoch_is_no_gap():
    books = Books(steps_per_epoch=3, prefetch=4)
    books.claim((0, 0))
    assert list(books.open.values()) == [(0, 1), (0, 2), (1, 0), (1, 1)]


@settings(max_examples=200)
@given(_steps, _prefetch, st.integers(1, 4))
def test_nothing_is_wanted_of_epochs_after_the_last_one_and_the_last_step_is_marked(steps, prefetch, epochs):
    books = Books(steps, prefetch)
    books.end(epochs)
    everything = [(epoch, step) for epoch in range(epochs) for step in range(steps)]
    marked = []
    for number, position in enumerate(everything):
        claim = books.claim(position)
        assert set(books.open.values()) == set(everything[number + 1 : number + 1 + prefetch])
        if claim.has_last:
            marked.append(claim.new[-1][1])
    assert marked == everything[-1:]
    assert books.claim((epochs, 0)).want  # asked for all the same


def test_the_step_asked_for_is_wanted_before_those_after_it():
    claim = Books(steps_per_epoch=10, prefetch=2).claim((0, 3))
    assert [position for _, position in claim.new] == [(0, 3), (0, 4), (0, 5)]
    assert claim.new[0][0] == claim.want


def test_two_cursors_share_the_prefetch_and_take_turns():
    books = Books(steps_per_epoch=10, prefetch=4)
    books.claim((0, 0))
    books.claim((1, 0))
    assert sorted(books.open.values()) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    claims = [books.claim(position) for position in [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)]]
    assert all(len(claim.new) == 1 and not claim.forgotten for claim in claims)


@settings(max_examples=100)
@given(_steps, st.integers(2, 9), st.lists(st.booleans(), min_size=1, max_size=40))
def test_two_readers_of_any_pace_always_find_their_next_step_wanted(steps, prefetch, turns):
    books = Books(steps, prefetch)
    places = [(0, 0), (7, 0)]
    for place in places:
        books.claim(place)
    for turn in turns:
        others = places[1 - turn]
        places[turn] = next(books.following(places[turn]))
        if places[turn] in (others, next(books.following(others))):
            return  # one has caught up with the other
        asked = len(turns) < 8  # nobody is idle for so long as to be stale
        assert not asked or places[turn] in books.open.values()
        books.claim(places[turn])


def test_the_wants_of_a_dropped_iterator_are_forgotten():
    books = Books(steps_per_epoch=1000, prefetch=4)
    books.claim((0, 0))
    books.claim((0, 1))  # an iterator that ends here
    for step in range(_LONG):
        books.claim((5, step))
    assert sorted(books.open.values()) == [(5, step) for step in range(_LONG, _LONG + 4)]


def test_an_iterator_that_was_idle_for_long_goes_on_where_it_was():
    books = Books(steps_per_epoch=1000, prefetch=4)
    books.claim((0, 0))
    for step in range(_LONG):
        books.claim((5, step))
    claim = books.claim((0, 1))
    assert claim.new[0] == (claim.want, (0, 1))


def test_an_iterator_begun_anew_each_epoch_does_not_pile_up_cursors():
    books = Books(steps_per_epoch=50, prefetch=8)
    for epoch in range(10):  # `take(3)` of each epoch
        for step in range(3):
            books.claim((epoch, step))
            assert len(books.open) <= 8


def test_the_same_step_may_be_asked_for_again():
    books = Books(steps_per_epoch=5, prefetch=2)
    first, second = books.claim((0, 2)).want, books.claim((0, 2)).want
    assert first != second


# ---- threads that overtake each other


def test_threads_that_read_side_by_side_have_each_step_made_once():
    books = Books(steps_per_epoch=100, prefetch=6)
    wants: dict[int, Position] = {}
    for step in (0, 2, 1, 4, 3, 5, 8, 7, 6, 9):
        claim = books.claim((0, step))
        wants.update(claim.new)
        assert not claim.forgotten
        assert len(books.open) <= 6
    assert len(set(wants.values())) == len(wants), "a step was made twice"


def test_a_step_that_was_skipped_and_never_asked_for_is_forgotten():
    books = Books(steps_per_epoch=1000, prefetch=4)
    books.claim((0, 0))
    for step in range(2, _LONG):
        books.claim((0, step))
    assert sorted(books.open.values()) == [(0, step) for step in range(_LONG, _LONG + 4)]


# ---- steps that are known when they are announced, and not before


class Announcer(Books):
    """A lookahead of announced steps; one is forgotten when it is asked for."""

    def __init__(self, prefetch: int) -> None:
        super().__init__(2**62, prefetch)
        self.known: set[Position] = set()
        self._lookahead = Lookahead(2**62, prefetch, self.known.__contains__)

    def announce(self, position: Position) -> list[Position]:
        """Announce a step; return the steps that are wanted because of it."""
        self.known.add(position)
        claim = self._lookahead.announce(position)
        for want in claim.forgotten:
            del self.open[want]
        self.open.update(claim.new)
        return [where for _, where in claim.new]

    def claim(self, position: Position) -> Claim:
        """Ask for a step that was announced, or is announced by that."""
        claim = super().claim(position)
        self.known.discard(position)
        return claim


def test_an_announced_step_is_wanted_at_once_and_an_unknown_one_never():
    books = Announcer(prefetch=3)
    assert books.announce((0, 0)) == [(0, 0)]
    assert books.announce((0, 1)) == [(0, 1)]
    claim = books.claim((0, 0))
    assert not claim.new
    assert sorted(books.open.values()) == [(0, 1)]


def test_no_more_announced_steps_are_wanted_than_the_prefetch():
    books = Announcer(prefetch=3)
    for step in range(10):
        books.announce((0, step))
    assert sorted(books.open.values()) == [(0, 0), (0, 1), (0, 2)]
    assert [where for _, where in books.claim((0, 0)).new] == [(0, 3)]


def test_after_a_restore_the_steps_of_the_checkpoint_are_wanted_when_they_are_asked_for():
    books = Announcer(prefetch=3)
    books.announce((4, 12))  # the first that the generator announces; 10 and 11 came out of the checkpoint
    assert [where for _, where in books.claim((4, 10)).new] == [(4, 10)]
    assert [where for _, where in books.claim((4, 11)).new] == [(4, 11)]
    assert not books.claim((4, 12)).new


def test_the_announced_steps_of_a_dropped_iterator_are_forgotten():
    books = Announcer(prefetch=4)
    for step in range(4):
        books.announce((0, step))
    for step in range(_LONG):
        books.announce((1, step))
        books.claim((1, step))
        assert len(books.open) <= 4
    assert not books.open


@settings(max_examples=200)
@given(st.integers(1, 6), st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=80))
def test_whoever_announces_and_reads_in_turn_gets_each_step_and_no_more_are_wanted_than_may(prefetch, moves):
    books = Announcer(prefetch)
    announced, read = [0, 0, 0], [0, 0, 0]
    for epoch, ahead in moves:
        if ahead or read[epoch] == announced[epoch]:
            books.announce((epoch, announced[epoch]))
            announced[epoch] += 1
        else:
            books.known.add((epoch, read[epoch]))  # as the reader does: it may have been forgotten meanwhile
            books.claim((epoch, read[epoch]))
            read[epoch] += 1
        assert set(books.open.values()) <= books.known
        assert len(books.open) <= max(prefetch, 4)


@settings(max_examples=300)
@given(
    _steps,
    _prefetch,
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11), st.integers(1, 30)), min_size=1, max_size=8),
)
def test_a_step_after_the_last_one_gives_the_same_claim_the_short_way_and_the_long_way(steps, prefetch, runs):
    short, long = Lookahead(steps, prefetch), Lookahead(steps, prefetch, lambda _: True)
    for epoch, step, length in runs:
        position = (epoch, step % steps)
        for _ in range(length):
            assert short.claim(position) == long.claim(position)
            position = (position[0], position[1] + 1) if position[1] + 1 < steps else (position[0] + 1, 0)
