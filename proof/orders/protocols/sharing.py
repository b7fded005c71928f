"""The locks that readers share: readers-writer lock, big-reader lock, sequence lock."""

from executions import Program
from parts import BOTH, EVERYONE, add, both, cas, claim, either, fence, load, park, read, rounds, section, settled
from parts import store, subtract, swap, wake

# The readers-writer lock's word: the count of readers in the low bits.
COUNT, WRITER, READERS, WRITERS = 7, 16, 64, 128
BARRED = WRITER | WRITERS


def wake_after_reader(word):
    """The wake-ups of a reader that took the count from 1 to 0."""
    if word & COUNT == 1 and word & WRITER == 0 and word & WRITERS != 0:
        yield from wake("word")


def wake_all(word):
    if word & READERS:
        yield from wake("word", "readers", EVERYONE)
    if word & WRITERS:
        yield from wake("word")


def read_enter(barring=BARRED):
    if (yield add("word", 1, "rwsem.read count_in")) & barring == 0:
        return True
    for _ in rounds(2):
        word = yield load("word", "rwsem.read take_back")
        if word - 1 & barring == 0:
            return True
        undone, _ = yield from cas("word", word, word - 1)
        if undone:
            yield from wake_after_reader(word)
            return False


def read_lock(me, barring=BARRED):
    if (yield from read_enter(barring)):
        return
    for _ in rounds(2):
        word = yield load("word")
        if word & barring == 0:
            if (yield from read_enter(barring)):
                return
            continue
        announced = word | READERS
        if announced != word:
            done, _ = yield from cas("word", word, announced)
            if not done:
                continue
        yield from park("word", announced, me, "readers")


def read_unlock():
    word = yield subtract("word", 1, "rwsem.unlock_read unlock_read")
    if word & BARRED != 0:
        yield from wake_after_reader(word)


def read_unlock_first():
    """Where readers go first, the last one clears the flags."""
    word = yield load("word")
    if word & (COUNT | WRITER) == 1 and word & (READERS | WRITERS) != 0:
        cleared, _ = yield from cas("word", word, 0, "rwsem.unlock_read unlock_read_with")
        if cleared:
            return (yield from wake_all(word))
    yield from read_unlock()


def write_lock(me, before_sleep=None):
    taken, _ = yield from cas("word", 0, WRITER, "rwsem.write take")
    if taken:
        return
    woken = False
    for _ in rounds(3):
        word = yield load("word")
        if word & (COUNT | WRITER) == 0:
            new = (word | WRITERS if woken else word & ~WRITERS) | WRITER
            taken, _ = yield from cas("word", word, new, "rwsem.write take")
            if taken:
                return
            continue
        announced = word | WRITERS
        if announced != word:
            done, _ = yield from cas("word", word, announced)
            if not done:
                continue
        if before_sleep:
            yield from before_sleep()
        woken = (yield from park("word", announced, me)) or woken


def write_unlock(keep=0):
    released, word = yield from cas("word", WRITER, keep, "rwsem.release release")
    if released:
        return
    word = yield load("word")
    for _ in rounds(3):
        released, found = yield from cas("word", word, word & COUNT | keep, "rwsem.release release_slow")
        if released:
            break
        word = found
    yield from wake_all(word)


def look():
    """Reads both data, which writers change together."""
    one = yield read("data")
    two = yield read("other")
    yield claim(one == two, "a reader sees half a change")


def writer(me, holds=False):
    if not holds:
        yield from write_lock(me)
    yield from section("data", "other")
    yield from write_unlock()


def reader(me, holds=False, first=False):
    if not holds:
        yield from read_lock(me, WRITER if first else BARRED)
    yield from look()
    yield from (read_unlock_first() if first else read_unlock())


# The big-reader lock: the gate and one slot; counts from bit 2 on, modulo 8.
SPREAD, MOVING, OPEN, ONE, SLOT_COUNT = 1, 2, 1, 4, 28


def slot_leave_or_gate():
    """`unlock_read`."""
    gate = yield load("gate", "big_reader.gathered leave")
    for _ in rounds(2):
        if gate & SPREAD == 0:
            return (yield from read_unlock())
        word = yield load("slot")
        for _ in rounds(2):
            if word & OPEN == 0:
                break
            left = word & OPEN | word - ONE & SLOT_COUNT
            done, found = yield from cas("slot", word, left, "big_reader.leave leave_open")
            if done:
                return
            word = found
        new = gate & ~SLOT_COUNT | gate - ONE & SLOT_COUNT
        done, found = yield from cas("gate", gate, new, "big_reader.gate leave_slot")
        if done:
            return
        gate = found


def slot_enter():
    if (yield load("gate")) != SPREAD:
        return False
    word = yield load("slot")
    for _ in rounds(2):
        if word & OPEN == 0:
            return False
        done, word = yield from cas("slot", word, word + ONE, "big_reader.enter enter_slot")
        if done:
            return True


def writer_waits():
    return (yield either("word", 0, "big_reader.announced writer_waits")) & WRITERS != 0


def spread():
    """The caller has a read lock, which then is in the slot."""
    begun, _ = yield from cas("gate", 0, MOVING, "big_reader.gathered spread")
    if not begun:
        return
    yield store("slot", 0)
    yield either("gate", SPREAD)
    yield store("slot", OPEN | ONE, "big_reader.open spread")
    done, _ = yield from cas("gate", SPREAD | MOVING, SPREAD, "big_reader.opened spread")
    if not done:
        yield from gather_moving()
    elif (yield from writer_waits()):
        yield from gather()


def gather():
    gate = yield load("gate")
    for _ in rounds(2):
        if gate & SPREAD == 0 or gate & MOVING != 0:
            return
        done, found = yield from cas("gate", gate, gate | MOVING, "big_reader.opened gather")
        if done:
            return (yield from gather_moving())
        gate = found


def gather_moving():
    inside = (yield both("slot", ~OPEN, "big_reader.close gather_moving")) & SLOT_COUNT
    yield add("word", inside.apply(lambda count: (count ^ 16) - 16 >> 2))
    gate = yield swap("gate", 0, "big_reader.gathered gather_moving")
    for _ in range(1 + settled(gate.apply(lambda gate: -((gate & SLOT_COUNT ^ 16) - 16) >> 2))):
        yield from read_unlock()


def big_write(me):
    if (yield load("gate")) & SPREAD:
        yield from gather()

    def before_sleep():
        yield from writer_waits()
        yield from gather()

    yield from write_lock(me, before_sleep)
    yield from section("data", "other")
    yield from write_unlock()


def announced_writer():
    """Comes while others have the lock, and waits for them; the sleep, as `rwsem` has it, is left out."""
    yield either("word", WRITERS)
    yield from writer_waits()
    yield from gather()
    word = yield load("word", until=lambda word: not word & (COUNT | WRITER))
    for _ in rounds(2):
        taken, word = yield from cas("word", word, WRITER, "rwsem.write take")
        if taken:
            break
    yield from section("data", "other")
    yield from write_unlock()


def big_reader(me, enters=True):
    if enters and not (yield from slot_enter()):
        return 0
    yield from look()
    yield from slot_leave_or_gate()
    return 1


def spreader(writes=False, looks=False):
    """Spreads the lock, of which it is the only reader; `writes`: before, as its writer."""
    if writes:
        yield from section("data", "other")
        yield from write_unlock(keep=1)
    yield from spread()
    if looks:
        yield from look()
    yield from slot_leave_or_gate()


def gatherer():
    """A reader that gathers the lock, and stays."""
    yield from gather()
    yield from look()


def trying_writer():
    word = yield load("word")
    if word & (COUNT | WRITER) == 0:
        taken, _ = yield from cas("word", word, WRITER, "rwsem.write take")
        if taken:
            yield from section("data", "other")


def sequence_write():
    sequence = yield load("sequence")
    yield store("sequence", sequence + 1)
    yield fence("seqrwlock.change begin_change")
    yield store("data", sequence // 2 + 1)
    yield store("other", sequence // 2 + 1)
    yield store("sequence", sequence + 2, "seqrwlock.end end_change")


def sequence_read():
    sequence = yield load("sequence", "seqrwlock.begin try_read_begin")
    if sequence & 1:
        return
    one = yield load("data")
    two = yield load("other")
    yield fence("seqrwlock.check read_retry")
    if (yield load("sequence")) == sequence:
        yield claim((one == sequence // 2) & (two == sequence // 2), "a reader takes other data than its sequence's")


def two_changes():
    yield from sequence_write()
    yield from sequence_write()


def written(count):
    return lambda results, last: last("data") == last("other") == count


SPREAD_WITH_A_READER = {"gate": SPREAD, "slot": OPEN | ONE, "word": 1}

PROGRAMS = {
    "rwsem": [
        Program("a writer and a reader", [lambda: writer(1), lambda: reader(2)], written(1)),
        Program("two writers", [lambda: writer(1), lambda: writer(2)], written(2)),
        Program("a writer that has it, and a reader", [lambda: writer(1, True), lambda: reader(2)], written(1),
                {"word": WRITER}),
        Program("a reader that has it, and a writer", [lambda: reader(1, True), lambda: writer(2)], written(1),
                {"word": 1}),
        Program("a reader that goes first, and a writer", [lambda: reader(1, True, True), lambda: writer(2)],
                written(1), {"word": 1}),
        Program("two readers that have it, and a writer",
                [lambda: reader(1, True), lambda: reader(2, True), lambda: writer(3)], written(1), {"word": 2}),
    ],
    "big_reader": [
        Program("a reader in a slot, and a writer", [lambda: big_reader(1, False), lambda: big_write(2)], written(1),
                SPREAD_WITH_A_READER),
        Program("a reader that comes, and a writer", [lambda: big_reader(1), lambda: big_write(2)], written(1),
                {"gate": SPREAD, "slot": OPEN, "word": 1}),
        Program("the last writer spreads, a reader comes", [lambda: spreader(writes=True), lambda: big_reader(2)],
                written(1), {"word": WRITER}),
        Program("one spreads while a writer comes", [lambda: spreader(looks=True), announced_writer], written(1),
                {"word": 1}, wide=["Armv8"]),
        Program("of two readers one gathers, and a writer tries",
                [gatherer, slot_leave_or_gate, trying_writer], lambda results, last: last("data") == 0,
                {"gate": SPREAD, "slot": OPEN | 2 * ONE, "word": 1 | WRITERS}),
        Program("one spreads while a writer and a reader come",
                [spreader, announced_writer, lambda: big_reader(3)], written(1), {"word": 1}, wide=BOTH),
    ],
    "seqrwlock": [
        Program("a change and a read", [sequence_write, sequence_read]),
        Program("two changes and a read", [two_changes, sequence_read]),
        Program("a change and two reads", [sequence_write, sequence_read, sequence_read]),
    ],
}
