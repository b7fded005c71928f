"""Enumerates the executions of a small concurrent program that a memory model allows.

A thread is a generator that yields operations and receives what they read, as `Value`s, which carry the reads that they
depend on. An execution is built operation by operation: each read takes its value from each write there is, each write
takes each place in the coherence order. `Search` says why each execution is found.
"""

from axioms import Relation


class Unknown(Exception):
    """A thread cannot go on: what it does depends on a read that is put off."""


class Cut(Exception):
    """A thread has gone round a loop as often as it may: the execution is not looked at further."""


class Value:
    """A value and the read events that it depends on. `number` is None while one of these is put off."""

    __slots__ = ("number", "reads")
    control = set()  # the reads on which the running thread has branched

    def __init__(self, number, reads=frozenset()):
        self.number, self.reads = number, reads

    def apply(self, function, *others):
        others = [known(other) for other in others]
        numbers = [self.number, *(other.number for other in others)]
        reads = self.reads.union(*(other.reads for other in others))
        return Value(None if None in numbers else function(*numbers), reads)

    def __bool__(self):
        if self.number is None:
            raise Unknown
        Value.control |= self.reads
        return bool(self.number)

    def __hash__(self):
        raise TypeError("a Value is no key")


for name in "add sub and or xor eq ne lt gt le ge lshift rshift floordiv".split():
    operator = getattr(__import__("operator"), f"__{name}__")
    setattr(Value, f"__{name}__", lambda self, other, operator=operator: self.apply(operator, other))


def known(value):
    return value if isinstance(value, Value) else Value(value)


class Operation:
    """What a thread does next. `site` is the ORDERING name and the function in the source, if it has one."""

    def __init__(self, kind, place=None, order="Relaxed", failure="Relaxed", change=None, until=None, site=None):
        self.kind, self.order, self.failure, self.site = kind, order, failure, site
        self.change, self.until = change, until
        name, index = place if isinstance(place, tuple) else (place, Value(0))
        index = known(index)
        self.place, self.address = (name, index.number), index.reads
        self.is_known = index.number is not None

    def is_unknown(self, value):
        """Whether an exchange that reads this value writes what depends on a read that is put off."""
        new = self.change(Value(value)) if self.kind == "exchange" else None
        return new is not None and known(new).number is None


class Event:
    """A read, a write or a fence. Its place in its thread is `(step, part)`."""

    def __init__(self, thread, step, kind, place, order, value=None, part=0, exclusive=False):
        self.thread, self.step, self.part, self.kind, self.place = thread, step, part, kind, place
        self.order, self.value, self.exclusive = order, value, exclusive
        self.address = self.data = self.control = frozenset()
        self.acquires = order in ("Acquire", "AcqRel", "SeqCst") and kind != "W"
        self.releases = order in ("Release", "AcqRel", "SeqCst") and kind != "R"


class Execution:
    """The relations and sets that the axioms speak of."""

    def __init__(self, state):
        events = self.events = state.events
        n = self.n = len(events)

        def all_that(test):
            return sum([1 << e for e, event in enumerate(events) if test(event)])

        self.R, self.W, self.F = (all_that(lambda event: event.kind == kind) for kind in "RWF")
        self.INIT = all_that(lambda event: event.thread < 0)
        self.NA = all_that(lambda event: event.order == "data")
        self.SC = all_that(lambda event: event.order == "SeqCst")
        self.ACQ = all_that(lambda event: event.acquires)
        self.REL = all_that(lambda event: event.releases)
        # Reads that Armv8 calls A: LDAR and LDAXR. Other loads with Acquire are LDAPR.
        self.A = all_that(lambda event: event.acquires and (event.exclusive or event.order == "SeqCst"))
        self.exchanged = sum(1 << write for write in state.pairs.values())
        self.identity = Relation([1 << e for e in range(n)])
        threads, places = {}, {}
        for number, event in enumerate(events):
            threads[event.thread] = threads.get(event.thread, 0) | 1 << number
            if event.kind != "F":
                places[event.place] = places.get(event.place, 0) | 1 << number
        self.external = Relation([~threads[event.thread] & (1 << n) - 1 for event in events])
        self.same_location = Relation([places.get(event.place, 0) for event in events])
        self.po = Relation(state.program_order())
        self.rf, self.co, self.rmw = ([0] * n for _ in range(3))
        for read, write in state.source.items():
            self.rf[write] |= 1 << read
        for order in state.coherence.values():
            later = 0
            for write in reversed(order):
                self.co[write] = later
                later |= 1 << write
        for read, write in state.pairs.items():
            self.rmw[read] = 1 << write
        self.rf, self.co, self.rmw = Relation(self.rf), Relation(self.co), Relation(self.rmw)

    def dependencies(self):
        """Adds the relations of dependency, which only Armv8 has."""
        kinds = {"address": [0] * self.n, "data": [0] * self.n, "control": [0] * self.n}
        for number, event in enumerate(self.events):
            for kind, rows in kinds.items():
                for read in getattr(event, kind):
                    rows[read] |= 1 << number
        self.addr, self.data, self.ctrl = (Relation(rows) for rows in kinds.values())
        return self


class State:
    """A part of an execution: events, where reads read, coherence, and for each thread the result of each step."""

    def __init__(self):
        self.events, self.source, self.coherence, self.pairs = [], {}, {}, {}
        self.results, self.put_off = [], []
        # The thread that has put a read off, and where it reads, until it writes what need not wait for that.
        self.hurries = None

    def copy(self):
        other = State.__new__(State)
        other.events, other.source, other.pairs = list(self.events), dict(self.source), dict(self.pairs)
        other.coherence, other.hurries = dict(self.coherence), self.hurries
        other.results, other.put_off = [dict(r) for r in self.results], [dict(p) for p in self.put_off]
        return other

    def program_order(self):
        """Returns the rows of program order; first values come before everything."""
        rows, threads, every = [0] * len(self.events), {}, 0
        for number, event in enumerate(self.events):
            if event.thread >= 0:
                threads.setdefault(event.thread, []).append((event.step, event.part, number))
                every |= 1 << number
        for chain in threads.values():
            later = 0
            for _, _, number in sorted(chain, reverse=True):
                rows[number] = later
                later |= 1 << number
        return [every if event.thread < 0 else row for event, row in zip(self.events, rows)]

    def add(self, event):
        self.events.append(event)
        return len(self.events) - 1

    def add_write(self, event, position):
        number = self.add(event)
        order = list(self.coherence[event.place])
        order.insert(position, number)
        self.coherence[event.place] = order
        return number

    def calm_down(self, event):
        """A write that is not ordered after the read that its thread has put off: that may read what comes after it."""
        hurried, place = self.hurries or (None, None)
        if hurried == event.thread and place != event.place and not event.releases:
            self.hurries = None

    def last(self, place):
        """The value of a place at the end."""
        return self.events[self.coherence[place][-1]].value

    def final(self, name):
        """The same by name; 0 if nothing was done there."""
        return self.last((name, 0)) if (name, 0) in self.coherence else 0

    def key(self):
        """The same for the same execution, in whatever order it was built."""
        name = [(event.thread, event.step, event.part) if event.thread >= 0 else event.place for event in self.events]
        source = frozenset((name[read], name[write]) for read, write in self.source.items())
        return source, frozenset(tuple(name[write] for write in order) for order in self.coherence.values())


class Program:
    """Threads, what places hold at first (0 unless said), and what must hold at the end.

    `end` receives what the threads returned, by number, and a function that gives the last value of a place. `wide`:
    the models under which it is too large for a quick run.
    """

    def __init__(self, name, threads, end=None, first=None, wide=()):
        self.name, self.threads, self.end, self.first, self.wide = name, threads, end, first or {}, wide

    def models(self, is_wide):
        return [model for model in ("RC11", "Armv8") if is_wide or model not in self.wide]


class Thread:
    """What a thread does next in a state."""

    def __init__(self, program, state, number, order_of):
        self.ready, self.is_done, self.result, self.wrong, self.is_cut = [], False, None, [], False
        results, put_off = state.results[number], state.put_off[number]
        Value.control = set()
        running, sent, step = program.threads[number](), None, -1
        try:
            while True:
                operation = running.send(sent)
                if operation.kind == "claim":
                    if operation.change.number is not None and not operation.change.number:
                        self.wrong.append(operation.place[0])
                    sent = None
                    continue
                step += 1
                operation.order, operation.failure = order_of(operation)
                if step in results:
                    sent = results[step]
                    if operation.until:
                        Value.control |= sent.reads
                    continue
                if not operation.is_known:
                    raise Unknown
                operation.step, operation.control = step, frozenset(Value.control)
                if operation.kind == "store" and operation.change.number is None:
                    sent = None  # waits for the read that its value depends on
                    continue
                self.ready.append(operation)
                if step not in put_off:
                    break
                sent = Value(None)
        except StopIteration as end:
            self.is_done, self.result = not self.ready, end.value
        except Unknown:
            pass
        except Cut:
            self.is_cut = True


class Search:
    """Calls `visit(state, threads, stuck)` for every execution that `model` allows: `stuck` are the threads that wait
    for ever, None if one was cut.

    Writes and fences are added as soon as their thread comes to them: a write may later turn out to be before others
    in coherence. Of reads each thread's next is tried in turn, with each write that is there. The next thread's turn
    then has those executions in which the first one's read takes its value from a write that is not there yet
    (`asleep`). So every execution in which program order and reads-from have no cycle is found, once.

    Where the model has such cycles (`puts_off`), a read without Acquire may also be put off: its thread goes on, as far
    as nothing depends on the read, which takes its value later. In each cycle some read is not ordered before the later
    write of its thread, or the model would forbid the cycle; that one is put off. Its thread goes on alone until such a
    write (`hurries`): a read in between that waits for others, and is not put off itself, orders the write after it.
    """

    def __init__(self, program, model, visit, order_of=None, puts_off=False):
        self.program, self.model, self.visit, self.puts_off = program, model, visit, puts_off
        self.order_of = order_of or (lambda operation: (operation.order, operation.failure))
        self.seen, self.cut, self.tried = set(), 0, 0

    def run(self):
        state = State()
        state.results = [{} for _ in self.program.threads]
        state.put_off = [{} for _ in self.program.threads]
        self.extend(state, {})

    def allowed(self, state):
        self.tried += 1
        return self.model(Execution(state))

    def place(self, state, place):
        """Gives a place its first value."""
        if place not in state.coherence:
            value = () if place[0].startswith("queue of ") else self.program.first.get(place[0], 0)
            state.coherence[place] = [state.add(Event(-1, 0, "W", place, "Relaxed", value))]

    def extend(self, state, asleep, threads=None, changed=None):
        """Goes on from a state; of the threads, only `changed` differs from what it was."""
        threads = threads or [None] * len(self.program.threads)
        threads = [
            Thread(self.program, state, number, self.order_of) if changed in (None, number) else thread
            for number, thread in enumerate(threads)
        ]
        if any(thread.is_cut for thread in threads):
            self.cut += 1
            if not any(state.put_off):
                self.visit(state, threads, None)
            return
        for number, thread in enumerate(threads):
            for operation in thread.ready if state.hurries is None or state.hurries[0] == number else ():
                if operation.kind in ("store", "fence"):
                    return self.write(state, number, operation, asleep, threads)
        if all(thread.is_done for thread in threads):
            return self.end(state, threads, [])
        self.look_for_the_stuck(state, threads)
        asleep = dict(asleep)
        for number, thread in enumerate(threads):
            if state.hurries is None or state.hurries[0] == number:
                for operation in thread.ready:
                    self.place(state, operation.place)
                    self.read(state, number, operation, asleep, threads)

    def look_for_the_stuck(self, state, threads):
        """Ends the execution in which all threads that are left wait for what does not come."""
        stuck = []
        for number, thread in enumerate(threads):
            if thread.is_done:
                continue
            if len(thread.ready) != 1 or not thread.ready[0].until or state.put_off[number]:
                return
            self.place(state, thread.ready[0].place)
            if thread.ready[0].until(state.last(thread.ready[0].place)):
                return
            stuck.append(number)
        self.end(state, threads, stuck)

    def end(self, state, threads, stuck):
        if self.puts_off:
            key = (state.key(), tuple(stuck))
            if key in self.seen:
                return
            self.seen.add(key)
        self.visit(state, threads, stuck)

    def write(self, state, number, operation, asleep, threads):
        kind = "F" if operation.kind == "fence" else "W"
        event = Event(number, operation.step, kind, operation.place, operation.order)
        event.address, event.control = operation.address, operation.control
        if kind == "F":
            after = state.copy()
            after.add(event)
            after.results[number][operation.step] = None
            return self.extend(after, asleep, threads, number)
        self.place(state, operation.place)
        event.value, event.data = operation.change.number, operation.change.reads
        order = state.coherence[operation.place]
        for position in range(len(order), self.floor(state, number, operation), -1):
            if position < len(order) and self.is_pair(state, order[position]):
                continue
            after = state.copy()
            after.add_write(event, position)
            after.results[number][operation.step] = None
            after.calm_down(event)
            if self.allowed(after):
                self.extend(after, asleep, threads, number)

    @staticmethod
    def floor(state, number, operation):
        """The place in coherence of the newest write that the thread has already read or written there."""
        order, floor = state.coherence[operation.place], 0
        for known, event in enumerate(state.events):
            if event.thread == number and event.place == operation.place and event.step < operation.step:
                floor = max(floor, order.index(state.source.get(known, known)))
        return floor

    @staticmethod
    def is_pair(state, write):
        """Whether the write is half of an exchange, which nothing may come before."""
        return write in state.pairs.values()

    def read(self, state, number, operation, asleep, threads):
        """Has the thread's operation read each write that is there; then bars those, for the turns of the others."""
        own = (number, operation.step)
        put_off = state.put_off[number]
        is_put_off = operation.step in put_off
        if is_put_off and state.hurries:
            return
        barred = asleep.get(own, frozenset()) | put_off.get(operation.step, frozenset())
        rest = {key: writes for key, writes in asleep.items() if key != own}
        order = state.coherence[operation.place]
        unknown = {write for write in order if operation.is_unknown(state.events[write].value)}
        for write in order[self.floor(state, number, operation) :]:
            if write in barred or write in unknown:
                continue
            if operation.until and not operation.until(state.events[write].value):
                continue
            after = self.take(state, number, operation, write)
            if after and self.allowed(after):
                self.extend(after, rest, threads, number)
        may_wait = self.puts_off and not is_put_off and not operation.until
        if may_wait and operation.order in ("Relaxed", "Release", "data"):
            after = state.copy()
            after.put_off[number][operation.step], after.hurries = frozenset(order), (number, operation.place)
            if Thread(self.program, after, number, self.order_of).ready[-1].step != operation.step:
                self.extend(after, asleep, threads, number)
        asleep[own] = barred | frozenset(order) - unknown

    def take(self, state, number, operation, write):
        """Returns the state in which the operation has read this write; None if another exchange has."""
        value = state.events[write].value
        changes = operation.kind == "exchange"
        new = operation.change(Value(value)) if changes else None
        order = operation.order if not changes or new is not None else operation.failure
        order_of_coherence = state.coherence[operation.place]
        position = order_of_coherence.index(write) + 1
        if new is not None and position < len(order_of_coherence):
            if order_of_coherence[position] in state.pairs.values():
                return None
        after = state.copy()
        event = Event(number, operation.step, "R", operation.place, order, value, exclusive=changes)
        event.address, event.control = operation.address, operation.control
        read = after.add(event)
        after.source[read] = write
        result = Value(value, frozenset([read]))
        if new is not None:
            new = known(operation.change(result))
            event = Event(number, operation.step, "W", operation.place, operation.order, new.number, 1, True)
            event.address, event.control, event.data = operation.address, operation.control, new.reads
            after.pairs[read] = after.add_write(event, position)
            after.calm_down(event)
        after.results[number][operation.step] = result
        after.put_off[number].pop(operation.step, None)
        return after
