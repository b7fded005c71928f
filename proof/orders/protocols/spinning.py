"""The locks that spin, and the queue of spinners."""

from executions import Program
from parts import BOTH, add, both, cas, load, rounds, section, settled, store, swap

HELD, TAIL = 16, 15  # the queued spin lock's word


def ends_with(count, word="word", free=0):
    """All sections took place, one after the other, and the lock is free."""
    return lambda results, last: last("data") == count and (word is None or last(word) == free)


def spinlock(me):
    for _ in rounds(2):
        taken, _ = yield from cas("word", 0, me, "spinlock.acquire take")
        if taken:
            break
        yield load("word", until=lambda word: word == 0)
    yield from section()
    yield store("word", 0, "spinlock.release release")


def ticket_take():
    word = yield load("word")
    if word >> 4 != word & 15:
        return False
    taken, _ = yield from cas("word", word, word + 16, "ticket.acquire take")
    return taken


def ticket_unlock():
    yield load("word")
    yield add("word", 1, "ticket.release release")


def ticket():
    if not (yield from ticket_take()):
        drawn = yield add("word", 16)
        turn = settled(drawn >> 4)
        yield load("word", until=lambda word: word & 15 == turn)
        yield load("word", "ticket.turn lock_slow")
    yield from section()
    yield from ticket_unlock()
    return 1


def ticket_try():
    if (yield from ticket_take()):
        yield from section()
        yield from ticket_unlock()
        return 1
    return 0


def mcs_lock(me, tries=False):
    yield store(("next", me), 0)
    yield store(("granted", me), 0)
    if tries:
        taken, _ = yield from cas("tail", 0, me, "mcs.join try_lock")
        return taken
    previous = yield swap("tail", me, "mcs.join lock")
    if previous != 0:
        yield store(("next", previous), me, "mcs.link wait")
        yield load(("granted", me), until=lambda granted: granted)
        yield load(("granted", me), "mcs.grant wait")
    return True


def mcs_unlock(me):
    following = yield load(("next", me), "mcs.link unlock")
    if following == 0:
        last, _ = yield from cas("tail", me, 0, "mcs.free unlock")
        if last:
            return
        yield load(("next", me), until=lambda link: link)
        following = yield load(("next", me), "mcs.link wait_for_link")
    yield store(("granted", following), 1, "mcs.grant unlock")


def mcs(me, tries=False):
    taken = yield from mcs_lock(me, tries)
    if taken:
        yield from section()
        yield from mcs_unlock(me)
    return int(bool(taken))


def queued_lock(me):
    taken, _ = yield from cas("word", 0, HELD, "queued.acquire take")
    if taken:
        return
    yield store(("next", me), 0)
    yield store(("granted", me), 0)
    word = yield load("word")
    for _ in rounds(2):
        joined, found = yield from cas("word", word, word & ~TAIL | me, "queued.join join")
        if joined:
            break
        word = found
    if word & TAIL != 0:
        yield store(("next", word & TAIL), me)
        yield load(("granted", me), until=lambda granted: granted)
    for _ in rounds(2):
        word = yield load("word", until=lambda word: not word & HELD)
        last = word & TAIL == me
        taken, _ = yield from cas("word", word, HELD if last else word | HELD, "queued.acquire take_as_head")
        if taken:
            break
    if not last:
        following = yield load(("next", me), until=lambda link: link)
        yield store(("granted", following), 1)


def queued(me, holds=False, times=1):
    for _ in range(times):
        if not holds:
            yield from queued_lock(me)
        yield from section()
        yield both("word", ~HELD, "queued.release release")


def queued_attempt():
    for _ in rounds(2):
        word = yield load("word", until=lambda word: not word & HELD)
        taken, _ = yield from cas("word", word, word | HELD, "queued.acquire attempt")
        if taken:
            break
    yield from section()
    yield both("word", ~HELD, "queued.release release")


def osq_join(me):
    """Joins the queue; returns whether it is the first."""
    yield store(("next", me), 0)
    yield store(("granted", me), 0)
    previous = yield swap("tail", me, "osq.join join")
    if previous == 0:
        return True
    yield store(("prev", me), previous)
    yield store(("next", previous), me, "osq.link lock")
    return False


def osq_wait_next(me, left, leaves):
    """Takes the successor; 0 if there is none. `leaves`: the successor may leave, so the loop cannot be one wait."""
    likely_last = True
    for _ in rounds(3):
        following = yield load(("next", me))
        if following != 0:
            following = yield swap(("next", me), 0, "osq.link wait_next")
            if following != 0:
                return following
        if likely_last or (yield load("tail")) == me:
            last, _ = yield from cas("tail", me, left, "osq.leave replace_tail")
            if last:
                return 0
        likely_last = False
        if not leaves:
            yield load(("next", me), until=lambda link: link)


def osq_cancel(me):
    """Leaves the queue; returns whether it became the first meanwhile."""
    for _ in rounds(2):
        previous = yield load(("prev", me))
        unlinked, _ = yield from cas(("next", previous), me, 0)
        if unlinked:
            break
        if (yield load(("granted", me), "osq.grant cancel")) != 0:
            return True
    following = yield from osq_wait_next(me, previous, False)
    if following != 0:
        yield store(("prev", following), previous)
        yield store(("next", previous), following, "osq.link cancel")
    return False


def osq_unlock(me, leaves):
    following = yield from osq_wait_next(me, 0, leaves)
    if following != 0:
        yield store(("granted", following), 1, "osq.grant unlock_with_hint")


def osq(me, is_first=False, hasty=False, times=1, leaves=False):
    passes = 0
    for _ in range(times):
        first = is_first or (yield from osq_join(me))
        if not first and hasty:
            first = yield from osq_cancel(me)
        elif not first:
            yield load(("granted", me), until=lambda granted: granted)
            yield load(("granted", me), "osq.grant lock")
            first = True
        if first:
            yield from section()
            passes += 1
            yield from osq_unlock(me, leaves)
        is_first = False
    return passes


def as_many(results, last):
    """The data were changed by as many sections as there were."""
    return last("data") == sum(results)


PROGRAMS = {
    "spinlock": [
        Program("two threads", [lambda: spinlock(1), lambda: spinlock(2)], ends_with(2)),
        Program("three threads", [lambda: spinlock(1), lambda: spinlock(2), lambda: spinlock(3)], ends_with(3)),
    ],
    "ticket": [
        Program("two threads", [ticket, ticket], ends_with(2, None)),
        Program("three threads", [ticket, ticket, ticket], ends_with(3, None), wide=BOTH),
        Program("a lock and a try", [ticket, ticket_try], as_many),
    ],
    "mcs": [
        Program("two threads", [lambda: mcs(1), lambda: mcs(2)], ends_with(2, "tail")),
        Program("a lock and a try", [lambda: mcs(1), lambda: mcs(2, True)], as_many),
        Program("two tries and a lock", [lambda: mcs(1, True), lambda: mcs(2, True), lambda: mcs(3)], as_many),
        Program("three threads", [lambda: mcs(1), lambda: mcs(2), lambda: mcs(3)], ends_with(3, "tail")),
    ],
    "queued": [
        Program("two threads", [lambda: queued(1), lambda: queued(2)], ends_with(2)),
        Program("an owner and a timed lock", [lambda: queued(1), queued_attempt], ends_with(2)),
        Program(
            "an owner and two in the queue",
            [lambda: queued(1, holds=True), lambda: queued(2), lambda: queued(3)],
            ends_with(3),
            {"word": HELD},
        ),
    ],
    "osq": [
        Program("two threads", [lambda: osq(1), lambda: osq(2)], ends_with(2, "tail")),
        Program("two threads, one may leave", [lambda: osq(1, leaves=True), lambda: osq(2, hasty=True)], as_many),
        Program("two threads, one twice", [lambda: osq(1, times=2), lambda: osq(2)], ends_with(3, "tail")),
        Program(
            "one of two behind the first leaves",
            [lambda: osq(1, is_first=True, leaves=True), lambda: osq(2, hasty=True), lambda: osq(3, leaves=True)],
            as_many,
            {"tail": 1},
            wide=["Armv8"],
        ),
        Program("three threads", [lambda: osq(1), lambda: osq(2), lambda: osq(3)], ends_with(3, "tail")),
    ],
}
