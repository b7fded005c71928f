"""The two memory models, axiom by axiom, in the style of herd's cat language.

RC11: Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing Sequential Consistency in C/C++11" (PLDI 2017), as herd's
rc11.cat has it, with two differences: release sequences are C++20's (a later plain store of the same thread does not
continue one: that is weaker, and Rust's rule), and there are no SeqCst fences, since the locks have none.

Armv8: the relations of herd's aarch64.cat that user code can enter (Arm Architecture Reference Manual, B2.3). Loads
with Acquire are LDAPR, the weakest instruction that compilers emit for them; exchanges are exclusive pairs, which order
no more than the single instructions of LSE do.
"""


class Relation:
    """A relation on events 0..n: a bit mask of successors for each event."""

    __slots__ = ("rows",)

    def __init__(self, rows):
        self.rows = rows

    def __or__(self, other):
        return Relation([a | b for a, b in zip(self.rows, other.rows)])

    def __and__(self, other):
        return Relation([a & b for a, b in zip(self.rows, other.rows)])

    def __sub__(self, other):
        return Relation([a & ~b for a, b in zip(self.rows, other.rows)])

    def __matmul__(self, other):
        """The sequence `self; other`."""
        rows = other.rows
        result = []
        for mask in self.rows:
            row = 0
            while mask:
                low = mask & -mask
                row |= rows[low.bit_length() - 1]
                mask ^= low
            result.append(row)
        return Relation(result)

    def __invert__(self):
        """The inverse relation."""
        result = [0] * len(self.rows)
        for event, mask in enumerate(self.rows):
            while mask:
                low = mask & -mask
                result[low.bit_length() - 1] |= 1 << event
                mask ^= low
        return Relation(result)

    def within(self, sources, targets):
        """`[sources]; self; [targets]`."""
        return Relation([row & targets if sources >> event & 1 else 0 for event, row in enumerate(self.rows)])

    def plus(self):
        """The transitive closure."""
        rows = list(self.rows)
        for via in range(len(rows)):
            reached, bit = rows[via], 1 << via
            if reached:
                rows = [row | reached if row & bit else row for row in rows]
        return Relation(rows)

    def optional(self):
        """`self?`."""
        return Relation([row | 1 << event for event, row in enumerate(self.rows)])

    def is_empty(self):
        return not any(self.rows)

    def is_irreflexive(self):
        return not any(row >> event & 1 for event, row in enumerate(self.rows))

    def is_acyclic(self):
        return self.plus().is_irreflexive()


def from_read(x):
    return (~x.rf @ x.co) - x.identity


def happens_before(x):
    """RC11's `hb`."""
    chain = (x.rf @ x.rmw).plus().optional().within(x.W, x.W)
    # A release store, or a release fence before any atomic store.
    release = Relation([1 << e if x.W & x.REL & ~x.NA & 1 << e else 0 for e in range(x.n)])
    release |= x.po.within(x.F & x.REL, x.W & ~x.NA & ~x.INIT)
    acquire = Relation([1 << e if x.R & x.ACQ & 1 << e else 0 for e in range(x.n)])
    acquire |= x.po.within(x.R & ~x.NA, x.F & x.ACQ)
    synchronizes = release @ chain @ x.rf @ acquire
    return (x.po | synchronizes).plus()


def rc11(x):
    """Returns whether RC11 allows the execution."""
    fr, hb = from_read(x), happens_before(x)
    eco = (x.rf | x.co | fr).plus()
    coherence = hb.is_irreflexive() and (hb @ eco).is_irreflexive()
    if not coherence or not (x.rmw & (fr @ x.co)).is_empty() or not (x.po | x.rf).is_acyclic():
        return False
    if x.SC & (x.SC - 1) == 0:
        return True
    elsewhere = x.po - x.same_location
    base = x.po | elsewhere @ hb @ elsewhere | hb & x.same_location | x.co | fr
    return base.within(x.SC, x.SC).is_acyclic()


def races(x):
    """Returns whether two accesses race, one of them to plain data."""
    hb = happens_before(x)
    ordered = hb | ~hb | x.identity
    conflict = (x.same_location & x.external).within(x.W & ~x.INIT, x.R | x.W & ~x.INIT)
    conflict = conflict.within(x.NA, -1) | conflict.within(-1, x.NA)
    return not (conflict - ordered).is_empty()


def armv8(x):
    """Returns whether Armv8 allows the execution."""
    fr, po_loc = from_read(x), x.po & x.same_location
    if not (x.rmw & ((fr & x.external) @ (x.co & x.external))).is_empty():  # atomic
        return False
    if not (po_loc | x.rf | x.co | fr).is_acyclic():  # internal
        return False
    every = -1
    lrs = (po_loc.within(x.W, x.R)) - (po_loc.within(x.W, x.W) @ po_loc)
    observed = (x.rf | x.co | fr) & x.external
    given = x.addr | x.data
    dob = given | x.ctrl.within(every, x.W) | (given @ lrs)
    if not x.addr.is_empty():
        dob |= x.addr @ x.po.within(every, x.W)
    aob = x.rmw | lrs.within(x.exchanged, x.ACQ)
    bob = (
        x.po.within(x.W & x.REL, x.A)  # [L]; po; [A]
        | x.po.within(x.R & x.ACQ, every)
        | x.po.within(every, x.W & x.REL)
    )
    if x.F:
        bob |= x.po.within(every, x.F & x.REL) @ x.po  # dmb ish
        bob |= x.po.within(x.R, x.F & x.ACQ & ~x.REL) @ x.po  # dmb ishld
    local = (po_loc.within(every, x.W) | dob | aob | bob).within(~x.INIT, ~x.F)
    return (observed | local).within(~x.F, ~x.F).is_acyclic()  # external
