"""What the platform's parts, and the preload library's condition variable, order."""

from executions import Program
from parts import EVERYONE, add, cas, claim, either, exchange, load, park, read, rounds, settled, store, subtract
from parts import swap, wake, write


def publish(word, site):
    yield write("data", 1)
    yield store(word, 1, site)


def find(word, site):
    if (yield load(word, site)) != 0:
        return (yield read("data")).number
    return 1


def publication(name, writer, reader):
    """One thread writes an object and stores a pointer to it; another follows that."""
    threads = [lambda: publish(name, writer), lambda: find(name, reader)]
    return Program(name, threads, lambda results, _: results[1] == 1)


def use(place):
    """Reads what another thread ends by writing 2 to it."""
    found = yield read(place)
    yield claim(found != 2, "what is gone is used")


# The stack of free slots: the top, a slot's number or 0, in the low bits, and above them how often it has changed.
TOP, CHANGE = 3, 4


def pop():
    top = yield load("free", "thread.free pop_free")
    for _ in rounds(2):
        if top & TOP == 0:
            return 0
        following = yield load(("next", top & TOP))
        popped, found = yield from cas("free", top, (top & ~TOP) + CHANGE | following, "thread.free pop_free")
        if popped:
            uses = yield read(("slot", top & TOP))
            yield write(("slot", top & TOP), uses + 1)
            return settled(top & TOP)
        top = found


def push(slot):
    yield write(("slot", slot), 1)
    top = yield load("free")
    for _ in rounds(2):
        yield store(("next", slot), top & TOP)
        pushed, top = yield from cas("free", top, (top & ~TOP) + CHANGE | slot, "thread.free push_free")
        if pushed:
            return


def pop_and_push():
    slot = yield from pop()
    if slot:
        yield from push(slot)
    return slot


def one_is_left(results, last):
    """Of slots 1 and 2 one was taken, and the stack has the other."""
    return results[1] in (1, 2) and last("free") & TOP == 3 - results[1]


def notice():
    """A thread that takes a slot: uses the key, if there is one."""
    yield add("busy", 1, "exit.end begin")
    if (yield load("key", "exit.end notice")) != 0:
        yield from use("data")
    yield subtract("busy", 1, "exit.end drop")


def end_key():
    yield swap("key", 0, "exit.end end_exit_key")
    yield load("busy", "exit.end are_none_busy", until=lambda busy: busy == 0)
    yield write("data", 2)


def observe():
    yield add("observers", 1, "on_cpu.leave cpu")
    if (yield load("area", "on_cpu.leave cpu")) != 0:
        yield from use("data")
    yield subtract("observers", 1, "on_cpu.leave cpu")


def withdraw():
    yield store("area", 0, "on_cpu.leave withdraw")
    yield load("observers", "on_cpu.leave is_observed", until=lambda observers: observers == 0)
    yield write("data", 2)


def bucket(body):
    """Holds the bucket's lock, std's: it orders as any lock does."""
    for _ in rounds(2):
        yield load("bucket", until=lambda bucket: bucket == 0)
        if (yield exchange("bucket", lambda old: old | 1, order="Acquire")) == 0:
            break
    result = yield from body()
    yield exchange("bucket", lambda old: old & 0, order="Release")
    return result


def table_park():
    def join():
        unchanged = (yield load("word")) == 0
        if unchanged:
            yield write("record", 1)
        return bool(unchanged)

    if (yield from bucket(join)):
        yield load("state", "table.awake park", until=lambda state: state == 1)
        yield write("record", 2)


def table_wake():
    def take():
        record = yield read("record")
        return bool(record != 0)

    yield store("word", 1)
    if (yield from bucket(take)):
        yield from use("record")
        yield store("state", 1, "table.awake wake")


DESTROYER, INSIDE = 1, 2


def cond_leave():
    yield from use("data")
    inside = yield subtract("inside", INSIDE, "cond.inside leave")
    if inside == INSIDE | DESTROYER:
        yield from wake("inside", most=EVERYONE)


def cond_destroy(me):
    inside = yield load("inside", "cond.inside destroy")
    for _ in rounds(3):
        if inside == 0:
            break
        inside = (yield either("inside", DESTROYER, "cond.inside destroy")) | DESTROYER
        if inside == DESTROYER:
            break
        yield from park("inside", inside, me)
        inside = yield load("inside", "cond.inside destroy")
    yield write("data", 2)


# The preload library's word: the count of waiters in the low bits, notifications from bit 2 on.
COUNT, NOTIFIED = 3, 4


def cond_wait(me):
    word = yield add("word", 1)
    yield exchange("mutex", lambda old: old & 0, order="Release")
    seen = word >> 2
    for _ in rounds(2):
        now = yield load("word")
        if now >> 2 != seen:
            break
        if (yield from park("word", now, me)):
            break


def cond_waiter(me):
    """Has the mutex; waits until there is an item."""
    if (yield read("ready")) == 0:
        yield from cond_wait(me)


def cond_signaller():
    for _ in rounds(2):
        yield load("mutex", until=lambda mutex: mutex == 0)
        if (yield exchange("mutex", lambda old: old | 1, order="Acquire")) == 0:
            break
    yield write("ready", 1)
    yield exchange("mutex", lambda old: old & 0, order="Release")
    word = yield load("word")
    for _ in rounds(2):
        if word & COUNT == 0:
            return
        done, word = yield from cas("word", word, word - 1 + NOTIFIED)
        if done:
            break
    yield from wake("word")


PROGRAMS = {
    "publications": [
        publication("generation.page", "generation.page start", "generation.page generation"),
        publication("watcher.place", "watcher.place watch", "watcher.place watcher"),
        publication("policy.set", "policy.set set_policy", "policy.set policy"),
        publication("key", "exit.end start", "exit.end notice"),
        publication("area", "on_cpu.area publish", "on_cpu.leave cpu"),
    ],
    "slots": [
        Program("a push and a pop", [lambda: push(1), pop], one_is_left, {"free": 2}),
        Program("a push into nothing and a pop", [lambda: push(1), pop]),
        Program("two pop and push, one pushes", [pop_and_push, pop, lambda: push(1)], None, {"free": 2}),
    ],
    "exits": [
        Program("the key goes while it is used", [notice, end_key], None, {"key": 1}),
        Program("an area goes while it is read", [observe, withdraw], None, {"area": 1}),
        Program("the key goes while two use it", [notice, notice, end_key], None, {"key": 1}),
        Program("an area goes while two read it", [observe, observe, withdraw], None, {"area": 1}),
    ],
    "parking": [Program("a sleep and a wake-up", [table_park, table_wake])],
    "preload_cond": [
        Program("a wait and a signal", [lambda: cond_waiter(1), cond_signaller], None, {"mutex": 1}),
        Program("the object ends while one leaves", [cond_leave, lambda: cond_destroy(2)], None, {"inside": INSIDE}),
        Program("the object ends while two leave", [cond_leave, cond_leave, lambda: cond_destroy(3)], None,
                {"inside": 2 * INSIDE}),
    ],
}
