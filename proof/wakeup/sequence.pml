/* The condition variable of the preload library, crates/preload/src/cond/protocol.rs: a sequence, a count, and a flag
 * of a thread that polls, in one word; so an exchange of the word, retried or not, is one transition. Whether a thread
 * polls when it may, and for how long, is left open. Left out: timeouts, cancellation, destruction, forks, real-time
 * priorities; the explicit-state checks have those. Each `#ifdef` is a fault that must be found. */

byte sequence, count;
bit polling;
chan asleep = [4] of { byte };

#define LOCALS byte seen, left; bit polls

inline arrive() {
    seen = sequence;
    if
    :: count == 0 && !polling -> polling = 1; polls = 1
    :: count++; polls = 0
    fi
}

/* What the thread does that gives up polling. */
inline stop_polling() {
    polling = 0;
#ifndef UNCOUNTED
    count++;
#endif
    polls = 0
}

inline sleep() {
    if
    :: polls ->
        if
        :: sequence != seen
        :: atomic { sequence == seen -> stop_polling() }
        fi
    :: else
    fi;
    if
    :: !polls -> futex_wait(asleep, sequence == seen)
    :: else
    fi;
    atomic {
        if
#ifdef ALWAYS
        :: count > 0 -> count--
#else
        :: sequence == seen && count > 0 -> count--
#endif
        :: else
        fi;
        inside--;
        seen = 0;
        polls = 0
    }
}

inline signal() {
    atomic {
        polls = polling;
        if
        :: polling || count > 0 ->
            if
            :: !polls -> count--
            :: else
            fi;
#ifndef POLLED
            polling = 0;
#endif
#ifndef SAME
            sequence++;
#endif
            seen = 1
        :: else -> seen = 0
        fi;
        left = count
    }
    if
    :: seen && !polls ->
        seen = sequence;
        futex_wake(asleep);
        atomic {
            if
#ifdef BLIND
            :: !slept -> count = 0
#else
            :: !slept && sequence == seen && count == left && !polling -> count = 0
#endif
            :: else
            fi
        }
    :: else
    fi;
    d_step { seen = 0; left = 0; polls = 0 }
}

#include "queue.pml"
