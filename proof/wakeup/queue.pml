/* What both models run, lost.c's program: a queue of items, a mutex, one condition variable. Who posts an item sends
 * one signal, before it releases the mutex (with AFTER: after that). Each access of a thread to memory that others may
 * access meanwhile is one transition; all threads see them in one order. Included by a condition variable, which has
 * arrive(), sleep(), signal(), and LOCALS. */

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef ITEMS
#define ITEMS 4
#endif
/* Like lost.c's main thread: posts an item when the last one is taken and all workers wait. With BUSY: at any time, and
 * workers may end after an item. */
#ifdef BUSY
#define MAY_POST true
#define MAY_END if :: skip :: goto end fi
#else
#define MAY_POST items == 0 && inside == begun
#define MAY_END
#endif

/* With ONE_SLOW all threads but worker 0 go on without an interruption until they sleep or want the mutex. */
#ifdef ONE_SLOW
#define NOBODY 255
byte runs = NOBODY;
#define IF_MAY_RUN provided (_pid == 0 || runs == NOBODY || runs == _pid)
#define RUN runs = (_pid == 0 -> runs : _pid)
#define PAUSE runs = (_pid == 0 -> runs : NOBODY)
#else
#define IF_MAY_RUN
#define RUN skip
#define PAUSE skip
#endif

byte items, begun, inside;
bit locked;
/* Whether a thread was woken since it went to sleep; the poster is number WORKERS. */
bit woken[WORKERS + 1];

/* Sleeps at the end of a futex's queue if its word is `unchanged`, which the kernel checks under its lock. */
inline futex_wait(queue, unchanged) {
    atomic {
        if
        :: unchanged -> woken[me] = 0; queue ! me; slept = 1; PAUSE
        :: else -> slept = 0
        fi
    }
    if
    :: slept ->
end_asleep:
        atomic { woken[me] -> RUN }
    :: else
    fi
}

/* Wakes the longest sleeper, as the kernel does among threads of one priority; `slept`: there was one. */
inline futex_wake(queue) {
    d_step {
        if
        :: len(queue) > 0 -> queue ? other; woken[other] = 1; other = 0; slept = 1
        :: else -> slept = 0
        fi
    }
}

/* What a worker does while it has the mutex is one transition: others would wait. */
active [WORKERS] proctype worker() IF_MAY_RUN {
    byte me = _pid, other;
    bit slept;
    LOCALS;
    atomic { begun == me -> begun++ } /* they are alike: one order is enough */
    do
    :: atomic {
            !locked ->
            RUN;
            do
            :: items > 0 -> items--; MAY_END
            :: items == 0 -> break
            od;
            arrive();
            inside++
        }
        sleep();
        PAUSE
    od;
end:
    PAUSE
}

active proctype poster() IF_MAY_RUN {
    byte me = WORKERS, other, posts;
    bit slept;
    LOCALS;
    do
    :: posts < ITEMS ->
end_posted:
        atomic { !locked && MAY_POST -> locked = 1; items++; posts++; RUN }
#ifdef AFTER
        locked = 0;
        signal();
        PAUSE
#else
        signal();
        locked = 0;
        PAUSE
#endif
    :: posts == ITEMS -> break
    od
}

/* When no thread can go on, none sleeps while an item is there. */
active proctype end_of_all() { timeout -> assert(items == 0 || inside == 0) }
