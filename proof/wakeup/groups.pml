/* The condition variable of glibc 2.25 to 2.40, after its published description; text of our own. Waiters are in two
 * groups, and each group has a slot. They arrive in the open group; signals go to the closed one until each of its
 * waiters has one. Then the slots change roles. Left out: timeouts, cancellation, destruction, and the inner lock of
 * the signallers, since there is one. With AT_ONCE a waiter consumes a signal and reads `first` in one step, which no
 * processor can: then none is lost.
 *
 * `arrivals` and `first` (the closed group's first position) are doubled; their lowest bit is the open group's slot.
 * For each slot: `signals` that may be consumed, doubled, and 1 if the group has ended; `references` of threads that
 * use its futex, doubled, and 1 if a signaller waits for them; `unsignalled` waiters of the closed group, of `size`. */

byte arrivals, first, signals[2], references[2], unsignalled[2], size, waiters;
chan asleep[2] = [4] of { byte };
chan signaller = [1] of { byte };

#define LOCALS byte seen, start, position; bit slot, done

/* Gives up a reference; the last one wakes a signaller that waits for it. */
inline unrefer() {
    atomic { seen = references[slot]; references[slot] = seen - 2 }
    if
    :: seen == 3 -> references[slot] = references[slot] & 254; futex_wake(signaller)
    :: else
    fi
}

inline sleep_in_slot() {
    references[slot] = references[slot] + 2;
    seen = signals[slot];
    if
    :: !(seen & 1) ->
        start = first;
        if
        :: position >= start / 2 -> futex_wait(asleep[slot], signals[slot] == 0)
        :: else -> done = 1
        fi
    :: else -> done = 1
    fi;
    unrefer()
}

/* A waiter that may have consumed a signal of a later group in its slot puts one back. */
inline put_back() {
    seen = signals[slot];
    do
    :: first != start -> break
    :: else ->
        atomic {
            if
            :: !(seen & 1) && signals[slot] == seen -> signals[slot] = seen + 2; done = 1
            :: else -> done = seen & 1; seen = signals[slot]
            fi
        }
        if
        :: done -> futex_wake(asleep[slot]); break
        :: else
        fi
    od
}

inline arrive() {
    position = arrivals / 2;
    slot = arrivals & 1;
    arrivals = arrivals + 2;
    waiters++
}

inline sleep() {
    do
    :: done -> break
    :: else ->
        seen = signals[slot];
        if
        :: seen & 1 -> done = 1
        :: seen == 0 -> sleep_in_slot()
        :: else ->
            atomic {
                if
                :: signals[slot] == seen -> signals[slot] = seen - 2
#ifdef AT_ONCE
                    ;
                    start = first
#endif
                :: else -> seen = 0
                fi
            }
            if
            :: seen > 0 ->
#ifndef AT_ONCE
                start = first; /* lost.c stops a thread right before this */
#endif
                if
                :: position < start / 2 && (start & 1) != slot -> put_back()
                :: else
                fi;
                done = 1
            :: else
            fi
        fi
    od;
    atomic { waiters--; inside--; seen = 0; start = 0; position = 0; slot = 0; done = 0 }
}

/* Ends the closed group, when all threads have left its futex, and closes the open one. */
inline switch_groups() {
    signals[slot] = signals[slot] | 1;
    do
    :: atomic { references[slot] >= 2 -> references[slot] = references[slot] | 1; seen = references[slot] }
        futex_wait(signaller, references[slot] == seen)
    :: references[slot] < 2 -> break
    od;
    start = first / 2 + size;
    first = 2 * start + slot;
    signals[slot] = 0;
    atomic { position = arrivals / 2; arrivals = arrivals ^ 1 }
    slot = 1 - slot;
    size = position - start;
    unsignalled[slot] = unsignalled[slot] + size
}

inline signal() {
    if
    :: waiters > 0 ->
        d_step { position = arrivals / 2; slot = 1 - (arrivals & 1) }
        if
        :: unsignalled[slot] == 0 && position > first / 2 + size -> switch_groups()
        :: else
        fi;
        if
        :: unsignalled[slot] > 0 ->
            signals[slot] = signals[slot] + 2;
            unsignalled[slot] = unsignalled[slot] - 1;
            futex_wake(asleep[slot])
        :: else
        fi;
        d_step { seen = 0; start = 0; position = 0; slot = 0 }
    :: else
    fi
}

#include "queue.pml"
