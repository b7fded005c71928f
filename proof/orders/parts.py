"""What the protocols are written with: operations on words, sections on plain data, and sleeping."""

from executions import Cut, Operation, Unknown, Value, known


def at(site, method):
    """The key of a site in the source, `name function`, whose operation is this method."""
    return site and f"{site} {method}"


def load(place, site=None, until=None):
    return Operation("load", place, site=at(site, "load"), until=until)


def store(place, value, site=None):
    return Operation("store", place, change=known(value), site=at(site, "store"))


def read(place):
    """Reads data that are not atomic: a race is a fault."""
    return Operation("load", place, "data")


def write(place, value):
    return Operation("store", place, "data", change=known(value))


def fence(site):
    return Operation("fence", site=at(site, "fence"))


def claim(holds, what):
    return Operation("claim", what, change=known(holds))


def exchange(place, change, site=None, order="Relaxed"):
    return Operation("exchange", place, order, change=change, site=site)


def swap(place, value, site=None):
    return exchange(place, lambda old: known(value), at(site, "swap"))


def add(place, number, site=None):
    return exchange(place, lambda old: old + number, at(site, "fetch_add"))


def subtract(place, number, site=None):
    return exchange(place, lambda old: old - number, at(site, "fetch_sub"))


def either(place, bits, site=None):
    return exchange(place, lambda old: old | bits, at(site, "fetch_or"))


def both(place, bits, site=None):
    return exchange(place, lambda old: old & bits, at(site, "fetch_and"))


def cas(place, expected, new, site=None):
    """A compare-exchange; returns whether it succeeded, and what it found."""
    expected, new = known(expected), known(new)

    def change(old):
        if expected.number is None:
            return Value(None)
        return new if old.number == expected.number else None

    old = yield exchange(place, change, at(site, "compare_exchange"))
    return old == expected, old


def settled(value):
    """The number of a value on which it depends what a wait is for."""
    if value.number is None:
        raise Unknown
    return value.number


def rounds(most):
    """Goes round a loop so often; a thread that would go on is not looked at further."""
    yield from range(most)
    raise Cut


def section(*data):
    """Adds 1 to the data that a lock protects."""
    for place in data or ("data",):
        count = yield read(place)
        yield write(place, count + 1)


EVERYONE = 99
# Too large for a quick run.
BOTH = ("RC11", "Armv8")


def park(word, expected, me, lane="waiters"):
    """Sleeps while the word is as expected; returns whether it was woken.

    As in futex(2), a sleep and a wake-up on one word are ordered: one that comes second sees what the first one's
    thread did before. (First in the queue, then a look: the kernel has both under a lock.)
    """
    queue = f"queue of {word}" if isinstance(word, str) else (f"queue of {word[0]}", word[1])
    yield exchange(queue, lambda old: old.apply(lambda asleep: asleep + ((me, lane),)), order="Acquire")
    now = yield load(word)
    if now != expected:
        asleep = yield exchange(queue, lambda old: old.apply(lambda asleep: without(asleep, me)))
        return bool(asleep.apply(lambda asleep: without(asleep, me) == asleep))
    yield load(queue, until=lambda asleep: without(asleep, me) == asleep)
    return True


def without(asleep, me):
    return tuple(entry for entry in asleep if entry[0] != me)


def wake(word, lane="waiters", most=1):
    """Wakes so many of those that sleep in the lane; returns how many it woke."""
    queue = f"queue of {word}" if isinstance(word, str) else (f"queue of {word[0]}", word[1])

    def woken(asleep):
        return [entry for entry in asleep if entry[1] == lane][:most]

    def rest(asleep):
        return tuple(entry for entry in asleep if entry not in woken(asleep))

    asleep = yield exchange(queue, lambda old: old.apply(rest), order="Release")
    return asleep.apply(lambda asleep: len(woken(asleep)))
