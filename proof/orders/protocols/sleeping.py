"""The locks whose threads sleep: mutex, semaphore, condition variable, reference count with a lock."""

from executions import Program
from parts import BOTH, EVERYONE, add, both, cas, claim, either, fence, load, park, read, rounds, section
from parts import store, subtract, wake, write

# The mutex's word.
OWNER, GRANTED, WAITERS, HANDOFF = 15, 16, 32, 64
BLOCKED = OWNER | GRANTED | HANDOFF


def mutex_slow(me, woken=False, late=False, most=3):
    """`wait/waiter.rs`, without spinning: sleeps until it has the lock; `late`: once woken it requests a hand-off."""
    request = False
    for _ in rounds(most):
        word = yield load("word")
        request = request and bool(word & HANDOFF)
        barred = OWNER if request else OWNER | HANDOFF if woken else BLOCKED
        if word & barred == 0:
            kept = word & WAITERS if word & (HANDOFF | GRANTED) else 0
            taken, _ = yield from cas("word", word, (kept | WAITERS if woken else kept) | me, "mutex.acquire take")
            if taken:
                return
            continue
        requests = late and woken and word & (HANDOFF | GRANTED) == 0
        new = word | WAITERS | (HANDOFF if requests else 0)
        if new != word:
            announced, _ = yield from cas("word", word, new)
            if not announced:
                continue
        request = request or bool(requests)
        was_woken = yield from park("word", new, me, "first" if request else "waiters")
        woken = woken or was_woken


def mutex_lock(me, late=False):
    taken, _ = yield from cas("word", 0, me, "mutex.acquire lock_fast")
    if not taken:
        yield from mutex_slow(me, late=late)


def mutex_try():
    """`try_past`: takes a free lock though threads sleep."""
    word = yield load("word")
    for _ in rounds(2):
        if word & BLOCKED != 0:
            return False
        taken, found = yield from cas("word", word, 7, "mutex.acquire try_take")
        if taken:
            return True
        word = found


def mutex_unlock():
    word = yield both("word", ~OWNER, "mutex.release unlock_fast")
    if word & HANDOFF:
        if (yield from wake("word", "first", EVERYONE)) == 0:
            yield from wake("word")
    elif word & WAITERS:
        yield from wake("word")


def mutex_unlock_fair(me):
    for _ in rounds(2):
        word = yield either("word", 0)
        if word & WAITERS == 0 or word & HANDOFF != 0:
            return (yield from mutex_unlock())
        yield both("word", ~WAITERS)
        if (yield from wake("word")) == 0:
            continue
        granted, _ = yield from cas("word", me, GRANTED, "mutex.release unlock_fair")
        if granted:
            return


def mutex(me, holds=False, late=False, fair=False, again=False):
    if not holds:
        yield from mutex_lock(me, late)
    yield from section()
    yield from (mutex_unlock_fair(me) if fair else mutex_unlock())
    if again:
        yield from mutex(me)


def mutex_tries():
    taken = yield from mutex_try()
    if taken:
        yield from section()
        yield from mutex_unlock()
    return int(taken)


def sections(count):
    return lambda results, last: last("data") == count and last("word") & BLOCKED == 0


# The semaphore's word: permits in the low bits.
PERMITS, S_HANDOFF, PASSED, FIRST, S_WAITERS = 7, 8, 16, 32, 64
ASLEEP = FIRST | PASSED


def semaphore_take():
    word = yield load("word")
    for _ in rounds(2):
        if word & S_HANDOFF != 0 or word & PERMITS == 0:
            return False
        taken, word = yield from cas("word", word, word - 1, "semaphore.acquire take")
        if taken:
            return True


def semaphore_pass_on(word):
    if word & S_WAITERS == 0 or (yield from wake("word")) != 0:
        return
    word = yield load("word")
    for _ in rounds(2):
        if word & ASLEEP != PASSED:
            return
        cleared, found = yield from cas("word", word, word & PERMITS)
        if cleared:
            if word & S_WAITERS != 0:
                yield from wake("word")
            return
        word = found


def semaphore_acquire(me):
    if (yield from semaphore_take()):
        return
    first = woken = False
    for _ in rounds(4):
        word = yield load("word")
        if first and word & PERMITS != 0:
            left = word & PERMITS | (PASSED if word & S_WAITERS != 0 else 0)
            took, _ = yield from cas("word", word, left - 1, "semaphore.acquire leave")
            if took:
                if word & ASLEEP == ASLEEP:
                    yield from wake("word", "first", EVERYONE)
                return (yield from semaphore_pass_on(word))
        elif not first and word & FIRST == 0 and (woken or word & PASSED == 0):
            others = S_WAITERS if woken or word & PASSED != 0 else 0
            first, _ = yield from cas("word", word, (word | FIRST | others) & ~PASSED)
            first = bool(first)
        else:
            new = word | (PASSED if first else S_WAITERS)
            if new != word:
                announced, _ = yield from cas("word", word, new)
                if not announced:
                    continue
            woken = (yield from park("word", new, me, "first" if first else "waiters")) or woken


def semaphore_release():
    word = yield load("word")
    for _ in rounds(3):
        asleep = word & ASLEEP == ASLEEP
        new = (word & ~PASSED if asleep else word) + 1
        released, found = yield from cas("word", word, new, "semaphore.release release")
        if released:
            break
        word = found
    if asleep:
        if (yield from wake("word", "first", EVERYONE)) == 0 and word & S_WAITERS != 0:
            yield from wake("word")


def semaphore(me, holds=False, releases=True):
    if not holds:
        yield from semaphore_acquire(me)
    yield from section()
    if releases:
        yield from semaphore_release()


# The condition variable's sequence: POLLING in bit 0, notifications above. Waits and notifies with the mutex.
POLLING, NOTIFICATION = 1, 2


def condvar_wait(me, polls):
    """Waits, with the mutex; `polls`: the thread polls, and gives up at once, before it sleeps."""
    sequence = yield load("sequence")
    set_it = False
    if polls and (yield load("waiters")) == 0:
        set_it, _ = yield from cas("sequence", sequence, sequence | POLLING)
    if set_it:
        sequence = sequence | POLLING
    else:
        yield add("waiters", 1)
    yield from mutex_unlock()
    if set_it:
        yield add("waiters", 1)
        now = yield load("sequence")
        gave_up = False
        for _ in rounds(2):
            if now | POLLING != sequence | POLLING:
                break
            gave_up, now = yield from cas("sequence", now, now & ~POLLING, "condvar.polls poll")
            if gave_up:
                break
        if not gave_up:
            yield subtract("waiters", 1)
            return (yield from mutex_lock(me))
    expected = sequence
    for _ in rounds(2):
        if (yield from park("sequence", expected, me)):
            break
        now = yield load("sequence")
        if now | POLLING != expected | POLLING:
            break
        expected = now
    yield subtract("waiters", 1)
    yield from mutex_slow(me, woken=True)


def condvar_notify_one():
    before = yield load("sequence", "condvar.polls notify")
    for _ in rounds(2):
        polled = before & POLLING != 0
        if not polled and (yield load("waiters")) == 0:
            return
        notified, before = yield from cas("sequence", before, (before & ~POLLING) + 2, "condvar.polls notify")
        if notified:
            break
    if not polled:
        yield from wake("sequence")


def condvar_waiter(me, polls, holds=False):
    if not holds:
        yield from mutex_lock(me)
    for _ in rounds(2):
        ready = yield read("ready")
        if ready:
            break
        yield from condvar_wait(me, polls)
    yield from mutex_unlock()


def condvar_notifier(me, inside):
    yield from mutex_lock(me)
    yield write("ready", 1)
    if inside:
        yield from condvar_notify_one()
    yield from mutex_unlock()
    if not inside:
        yield from condvar_notify_one()


# LockRef's word: the lock half, and the count from bit 6 on.
HELD, R_WAITERS, LOCK, ONE = 16, 32, 63, 64


def lockref_change(delta, may, site):
    """`change`: returns "done" with the word, "refused", or "busy" if the lock is held."""
    word = yield load("word")
    for _ in rounds(3):
        if word & LOCK != 0:
            return "busy", word
        if not may(word >> 6):
            return "refused", word
        changed, found = yield from cas("word", word, word + delta, site)
        if changed:
            return "done", word
        word = found


def lockref_take(me):
    word = yield load("word")
    for _ in rounds(2):
        if word & LOCK != 0:
            return False
        taken, word = yield from cas("word", word, word | HELD | me, "lockref.lock take")
        if taken:
            return True


def lockref_seize(me):
    if (yield load("word")) & LOCK != 0:
        return False
    word = yield either("word", HELD, "lockref.lock seize")
    if word & LOCK != 0:
        return False
    yield either("word", me)
    return True


def lockref_lock(me, sleeps=True):
    if (yield from lockref_take(me)):
        return
    for _ in rounds(3):
        if (yield from lockref_seize(me)):
            return
        if not sleeps:
            yield load("word", until=lambda word: not word & LOCK)
            continue
        word = yield load("word")
        if word & LOCK == 0 or word & OWNER == 0:
            continue
        owner, announced = word & OWNER, word | R_WAITERS
        if announced != word:
            done, _ = yield from cas("word", word, announced)
            if not done:
                continue
        seen = yield load(("released", owner), "lockref.seen sleep")
        if (yield load("word")) & LOCK != announced & LOCK:
            continue
        yield from park(("released", owner), seen, me)


def lockref_unlock():
    word = yield both("word", ~LOCK, "lockref.unlock unlock")
    if word & R_WAITERS != 0:
        owner = word & OWNER
        yield add(("released", owner), 1, "lockref.wake wake_after")
        yield from wake(("released", owner), most=EVERYONE)


def lockref(me, holds=False, sleeps=True):
    if not holds:
        yield from lockref_lock(me, sleeps)
    yield from section()
    yield from lockref_unlock()


def lockref_publish():
    """Writes the object, and gives it its first reference, under the lock."""
    yield from lockref_lock(1)
    yield write("data", 1)
    yield add("word", ONE)
    yield from lockref_unlock()


def lockref_find(function):
    """Looks for the object, and reads it if it gets a reference."""
    may = lambda count: function == "get_not_dead" or count != 0
    how, word = yield from lockref_change(ONE, may, f"lockref.found {function}")
    if how == "done" and word >> 6 != 0:
        data = yield read("data")
        yield claim(data == 1, "found an object that is not written")


def lockref_drop(me, function):
    """Uses its reference, then drops it; who has the last one frees the object (writes to all of it)."""
    yield write(("part", me), 1)
    last = 0 if function == "put" else 1
    how, word = yield from lockref_change(-ONE, lambda count: count > last, f"lockref.put {function}")
    if how == "done" and word >> 6 == 1:
        yield fence("lockref.last put")
    elif how == "refused":
        yield from lockref_lock(me, sleeps=False)
    else:
        return 0
    for other in (1, 2):
        yield write(("part", other), 2)
    if how == "refused":
        yield from lockref_unlock()
    return 1


def mutexes():
    three = [lambda: mutex(1, holds=True), lambda: mutex(2), mutex_tries]
    return [
        Program("two threads", [lambda: mutex(1), lambda: mutex(2)], sections(2)),
        Program("an owner and a waiter", [lambda: mutex(1, holds=True), lambda: mutex(2)], sections(2), {"word": 1}),
        Program(
            "an owner, a waiter and a try", three, lambda results, last: last("data") == 2 + results[2], {"word": 1}
        ),
        Program(
            "a fair release to a waiter",
            [lambda: mutex(1, holds=True, fair=True), lambda: mutex(2)],
            sections(2),
            {"word": 1},
        ),
        Program(
            "a hand-off",
            [lambda: mutex(1, holds=True, again=True), lambda: mutex(2, late=True)],
            sections(3),
            {"word": 1},
            wide=["Armv8"],
        ),
        Program(
            "an owner and two waiters",
            [lambda: mutex(1, holds=True), lambda: mutex(2), lambda: mutex(3)],
            sections(3),
            {"word": 1},
            wide=BOTH,
        ),
    ]


PROGRAMS = {
    "mutex": mutexes(),
    "semaphore": [
        Program("a release and an acquire", [lambda: semaphore(1, True), lambda: semaphore(2, False, False)],
                lambda results, last: last("data") == 2),
        Program("two threads", [lambda: semaphore(1), lambda: semaphore(2)], lambda results, last: last("data") == 2,
                {"word": 1}),
    ],
    "condvar": [
        Program("notified under the mutex", [lambda: condvar_waiter(1, False, True), lambda: condvar_notifier(2, True)],
                None, {"word": 1}, wide=BOTH),
        Program("notified after it", [lambda: condvar_waiter(1, False, True), lambda: condvar_notifier(2, False)],
                None, {"word": 1}, wide=["Armv8"]),
        Program("a waiter that polls, notified after it",
                [lambda: condvar_waiter(1, True, True), lambda: condvar_notifier(2, False)], None, {"word": 1},
                wide=["Armv8"]),
    ],
    "lockref": [
        Program("two threads that poll", [lambda: lockref(1, sleeps=False), lambda: lockref(2, sleeps=False)],
                lambda results, last: last("data") == 2),
        Program("an owner and a sleeper", [lambda: lockref(1, holds=True), lambda: lockref(2)],
                lambda results, last: last("data") == 2, {"word": HELD | 1}),
        *[Program(f"an object is found: {function}", [lockref_publish, lambda f=function: lockref_find(f)])
          for function in ("get_not_zero", "get_or_lock", "get_not_dead")],
        *[Program(f"the last reference: {function}",
                  [lambda f=function: lockref_drop(1, f), lambda f=function: lockref_drop(2, f)],
                  lambda results, last: sum(results) == 1, {"word": 2 * ONE})
          for function in ("put", "put_not_last", "put_or_lock")],
    ],
}
