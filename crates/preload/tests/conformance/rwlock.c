/* pthread_rwlock_*: what each call answers, for every kind of readers-writer lock. */
#include "rwlock.h"

SENTENCE(read_takes_a_free_lock, 0, "A read lock on a free lock succeeds.")
{
    READING(l);
    return unlock(&l);
}

SENTENCE(write_takes_a_free_lock, 0, "So does a write lock.")
{
    WRITING(l);
    return unlock(&l);
}

SENTENCE(tries_take_a_free_lock, 0, "So do both tries, one after the other.")
{
    FREE(l);
    STEP(try_read_unlock(&l));
    STEP(try_write_unlock(&l));
    return elsewhere(try_write_unlock, &l);
}

SENTENCE(readers_share, 0, "Readers have the lock at the same time.")
{
    READING(l);
    STEP(elsewhere(try_read_unlock, &l));
    return elsewhere(read_unlock, &l);
}

SENTENCE(a_reader_reads_again, 0, "A thread may have several read locks, and unlocks each.")
{
    READING(l);
    STEP(read_lock(&l));
    STEP(try_read(&l));
    STEP(unlock(&l));
    STEP(unlock(&l));
    if (elsewhere(try_write, &l) != EBUSY)
        return NO;
    STEP(unlock(&l));
    return elsewhere(try_write_unlock, &l);
}

SENTENCE(trywrite_under_a_reader, EBUSY, "A writer's try fails while somebody reads.")
{
    READING(l);
    return elsewhere(try_write, &l);
}

SENTENCE(trywrite_under_ones_own_read, EBUSY, "Even if the reader is the same thread: locks are not upgraded.")
{
    READING(l);
    return try_write(&l);
}

SENTENCE(tryread_under_a_writer, EBUSY, "A reader's try fails while somebody writes.")
{
    WRITING(l);
    return elsewhere(try_read, &l);
}

SENTENCE(trywrite_under_a_writer, EBUSY, "A writer's, too.")
{
    WRITING(l);
    return elsewhere(try_write, &l);
}

SENTENCE(tries_under_ones_own_write, EBUSY, "Also the writer's own.")
{
    WRITING(l);
    return try_read(&l) == EBUSY ? try_write(&l) : NO;
}

SENTENCE(read_under_ones_own_write, EDEADLK, "The writer that wants to read as well would wait for itself.")
{
    WRITING(l);
    return read_lock(&l);
}

SENTENCE(write_under_ones_own_write, EDEADLK, "The writer that wants to write again, too.")
{
    WRITING(l);
    return write_lock(&l);
}

SENTENCE(timed_under_ones_own_write, EDEADLK, "Timed calls notice it at once.")
{
    WRITING(l);
    return read_soon(&l) == EDEADLK ? write_soon_monotonic(&l) : NO;
}

SENTENCE(read_waits_for_the_writer, YES, "A reader waits until the writer unlocks.")
{
    struct call c;
    WRITING(l);
    int waited = waits(&c, read_unlock, &l);
    STEP(unlock(&l));
    STEP(end(&c));
    return yes_if(waited);
}

SENTENCE(write_waits_for_readers, YES, "A writer waits until the last reader unlocks.")
{
    struct call c;
    READING(l);
    STEP(read_lock(&l));
    int waited = waits(&c, write_unlock, &l);
    STEP(unlock(&l));
    sleep_ns(SOON);
    waited &= !is_done(&c);
    STEP(unlock(&l));
    STEP(end(&c));
    return yes_if(waited);
}

SENTENCE(write_waits_for_the_writer, YES, "A writer waits for another.")
{
    struct call c;
    WRITING(l);
    int waited = waits(&c, write_unlock, &l);
    STEP(unlock(&l));
    STEP(end(&c));
    return yes_if(waited);
}

SENTENCE(everybody_is_served, 0, "However many wait behind a writer, each gets the lock in the end.")
{
    int (*const calls[])(void *) = {read_unlock, write_unlock, patient_read, patient_write};
    struct call c[8];
    WRITING(l);
    for (int i = 0; i < 8; i++)
        begin(&c[i], calls[i % 4], &l);
    sleep_ns(SOON);
    STEP(unlock(&l));
    for (int i = 0; i < 8; i++)
        STEP(end(&c[i]));
    return 0;
}

/* What a reader's call answers while one reads and a writer waits. */
static int read_past_a_waiting_writer(int variant, int (*call)(void *), int same_thread)
{
    struct call writer;
    READING(l);
    begin(&writer, write_unlock, &l);
    int waited = falls_asleep(&writer);
    int answer = same_thread ? call(&l) : elsewhere(call, &l);
    STEP(unlock(&l));
    STEP(end(&writer));
    return waited ? answer : NO;
}

#define READERS_PASS(otherwise) (KINDS[variant].preference == WRITERS_FIRST ? (otherwise) : 0)

SENTENCE(tryread_past_a_waiting_writer, READERS_PASS(EBUSY), "Unless writers come first, new readers do not wait.")
{
    return read_past_a_waiting_writer(variant, try_read_unlock, 0);
}

static int read_unlock_soon(void *l)
{
    STEP(read_soon(l));
    return unlock(l);
}

SENTENCE(read_past_a_waiting_writer_in_time, READERS_PASS(ETIMEDOUT), "The same for timed calls.")
{
    return read_past_a_waiting_writer(variant, read_unlock_soon, 0);
}

SENTENCE(read_again_past_a_waiting_writer, READERS_PASS(ETIMEDOUT), "A thread that reads may read again, likewise.")
{
    return read_past_a_waiting_writer(variant, read_unlock_soon, 1);
}

SENTENCE(readers_resume_after_a_writer_gave_up, 0, "A writer that gives up leaves readers free to pass.")
{
    READING(l);
    if (elsewhere(write_soon, &l) != ETIMEDOUT)
        return NO;
    STEP(elsewhere(try_read_unlock, &l));
    STEP(elsewhere(read_unlock, &l));
    STEP(unlock(&l));
    return elsewhere(try_write_unlock, &l);
}

SENTENCE(readers_wait_for_a_writer_that_gives_up, 0, "Also readers that came while it waited.")
{
    struct call writer, reader;
    READING(l);
    begin(&writer, write_soon_monotonic, &l);
    sleep_ns(SOON / 2);
    begin(&reader, read_unlock, &l);
    int answer = end(&writer);
    STEP(end(&reader));
    STEP(unlock(&l));
    return answer == ETIMEDOUT ? 0 : NO;
}

SENTENCE(timedread_gives_up, ETIMEDOUT, "A reader's wait for a writer ends when the time comes.")
{
    WRITING(l);
    return elsewhere(read_soon, &l);
}

SENTENCE(timedwrite_gives_up, ETIMEDOUT, "A writer's wait for a reader, too.")
{
    READING(l);
    return elsewhere(write_soon, &l);
}

SENTENCE(clockread_gives_up, ETIMEDOUT, "On the monotonic clock, too.")
{
    WRITING(l);
    return elsewhere(read_soon_monotonic, &l);
}

SENTENCE(clockwrite_gives_up, ETIMEDOUT, "Writers as well.")
{
    WRITING(l);
    return elsewhere(write_soon_monotonic, &l);
}

SENTENCE(timed_is_not_early, YES, "It does not give up before the time.")
{
    WRITING(l);
    long long begun = now_ns();
    if (elsewhere(read_soon_monotonic, &l) != ETIMEDOUT || now_ns() - begun < SOON)
        return NO;
    begun = now_ns();
    return yes_if(elsewhere(write_soon_monotonic, &l) == ETIMEDOUT && now_ns() - begun >= SOON);
}

SENTENCE(timedread_in_the_past, ETIMEDOUT, "A time that has passed ends the wait at once.")
{
    WRITING(l);
    return elsewhere(read_in_the_past, &l);
}

SENTENCE(timedread_before_the_epoch, ETIMEDOUT, "So does a time before the clock's beginning.")
{
    WRITING(l);
    return elsewhere(read_before_the_epoch, &l);
}

SENTENCE(timedwrite_in_the_past, ETIMEDOUT, "For writers, too.")
{
    READING(l);
    return elsewhere(write_in_the_past, &l);
}

SENTENCE(timed_of_a_free_lock, 0, "A free lock is taken, though the time has passed.")
{
    FREE(l);
    STEP(read_in_the_past(&l));
    STEP(unlock(&l));
    STEP(write_in_the_past(&l));
    return unlock(&l);
}

SENTENCE(timedread_with_a_bad_time, EINVAL, "Nanoseconds of a whole second, when it must wait.")
{
    WRITING(l);
    return elsewhere(read_bad_time, &l);
}

SENTENCE(timedwrite_with_a_bad_time, EINVAL, "Negative nanoseconds, when it must wait.")
{
    READING(l);
    return elsewhere(write_bad_time, &l);
}

SENTENCE(bad_time_for_a_free_lock, OPEN, "Whether the time is looked at when there is no need is open.")
{
    FREE(l);
    return elsewhere(read_bad_time, &l);
}

SENTENCE(clockread_on_no_such_clock, EINVAL, "Only the wall clock and the monotonic clock measure waits.")
{
    WRITING(l);
    return elsewhere(read_bad_clock, &l);
}

SENTENCE(clockwrite_on_no_such_clock, EINVAL, "For writers, too.")
{
    WRITING(l);
    return elsewhere(write_bad_clock, &l);
}

SENTENCE(timed_gets_it, 0, "Timed waits end with the lock when it comes free in time.")
{
    struct call r, w;
    WRITING(l);
    begin(&r, patient_read, &l);
    begin(&w, patient_write, &l);
    sleep_ns(SOON);
    STEP(unlock(&l));
    STEP(end(&r));
    return end(&w);
}

SENTENCE(destroy_of_a_free_lock, 0, "A free lock can be destroyed, and made again.")
{
    FREE(l);
    STEP(write_unlock(&l));
    STEP(pthread_rwlock_destroy(&l));
    STEP(make(variant, &l));
    STEP(elsewhere(read_unlock, &l));
    return pthread_rwlock_destroy(&l);
}

SENTENCE(destroy_of_a_taken_lock, OPEN, "Undefined.")
{
    READING(l);
    return pthread_rwlock_destroy(&l);
}

static int interrupted;
static void count_signal(int signal)
{
    (void)signal;
    interrupted++;
}

static int signalled(pthread_rwlock_t *l, int (*call)(void *))
{
    struct call c;
    struct sigaction action = {.sa_handler = count_signal};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    interrupted = 0;
    int waited = waits(&c, call, l);
    MUST(pthread_kill(c.thread, SIGUSR1) == 0);
    sleep_ns(2 * MS);
    waited &= !is_done(&c);
    STEP(unlock(l));
    STEP(end(&c));
    return yes_if(waited && interrupted == 1);
}

SENTENCE(signals_do_not_end_a_readers_wait, YES, "After a handler the reader waits on; no EINTR.")
{
    WRITING(l);
    return signalled(&l, read_unlock);
}

SENTENCE(signals_do_not_end_a_writers_wait, YES, "The writer, too.")
{
    READING(l);
    return signalled(&l, write_unlock);
}

SENTENCE(waits_are_no_cancellation_points, OPEN, "They may be: whether a cancelled waiter gets the lock first.")
{
    struct call c;
    WRITING(l);
    int waited = waits(&c, read_unlock, &l);
    MUST(pthread_cancel(c.thread) == 0);
    sleep_ns(SOON);
    waited &= !is_done(&c);
    STEP(unlock(&l));
    STEP(end(&c));
    return yes_if(waited && is_done(&c));
}

static int keeps_errno(void *l)
{
    errno = 4711;
    STEP(read_unlock(l));
    return yes_if(errno == 4711);
}

SENTENCE(errno_is_left_alone, YES, "Errors are returned, not left in errno.")
{
    struct call c;
    WRITING(l);
    int waited = waits(&c, keeps_errno, &l);
    errno = 4712;
    STEP(unlock(&l));
    return yes_if(waited && errno == 4712 && end(&c) == YES);
}

struct guarded {
    pthread_rwlock_t lock;
    long a, b;
};

static int writes(void *argument)
{
    struct guarded *g = argument;
    for (int i = 0; i < 500; i++) {
        STEP(pthread_rwlock_wrlock(&g->lock));
        g->a++;
        g->b--;
        STEP(pthread_rwlock_unlock(&g->lock));
    }
    return 0;
}

static int reads(void *argument)
{
    struct guarded *g = argument;
    for (int i = 0; i < 500; i++) {
        STEP(pthread_rwlock_rdlock(&g->lock));
        int torn = g->a + g->b != 0;
        STEP(pthread_rwlock_unlock(&g->lock));
        if (torn)
            return NO;
    }
    return 0;
}

SENTENCE(readers_see_whole_writes, 500, "Readers see what writers wrote, and never half of it.")
{
    struct guarded g = {.a = 0};
    struct call c[3];
    STEP(make(variant, &g.lock));
    begin(&c[0], writes, &g);
    begin(&c[1], reads, &g);
    begin(&c[2], reads, &g);
    for (int i = 0; i < 3; i++)
        STEP(end(&c[i]));
    return g.a;
}

SENTENCE(shared_between_processes, KINDS[variant].shared ? EBUSY : SKIP, "Another process finds a shared lock taken.")
{
    pthread_rwlock_t *l = shared_page();
    STEP(make(variant, l));
    STEP(write_lock(l));
    if (in_child(try_read, l) != EBUSY)
        return NO;
    STEP(unlock(l));
    STEP(in_child(write_unlock, l));
    STEP(read_lock(l));
    STEP(in_child(try_read_unlock, l));
    return in_child(try_write, l);
}

SENTENCE(attributes_are_read_back, ONCE(YES), "Sharing and preference; by default private and readers first.")
{
    pthread_rwlockattr_t a;
    int shared, kind, new_shared, new_kind;
    STEP(pthread_rwlockattr_init(&a));
    STEP(pthread_rwlockattr_getpshared(&a, &shared));
    STEP(pthread_rwlockattr_getkind_np(&a, &kind));
    STEP(pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    STEP(pthread_rwlockattr_setkind_np(&a, WRITERS_FIRST));
    STEP(pthread_rwlockattr_getpshared(&a, &new_shared));
    STEP(pthread_rwlockattr_getkind_np(&a, &new_kind));
    STEP(pthread_rwlockattr_destroy(&a));
    return yes_if(shared == PTHREAD_PROCESS_PRIVATE && kind == PTHREAD_RWLOCK_PREFER_READER_NP
                  && new_shared == PTHREAD_PROCESS_SHARED && new_kind == WRITERS_FIRST);
}

SENTENCE(no_such_sharing, ONCE(EINVAL), "Neither private nor shared.")
{
    pthread_rwlockattr_t a;
    STEP(pthread_rwlockattr_init(&a));
    return pthread_rwlockattr_setpshared(&a, 4711);
}

SENTENCE(no_such_preference, ONCE(EINVAL), "A preference that does not exist.")
{
    pthread_rwlockattr_t a;
    STEP(pthread_rwlockattr_init(&a));
    return pthread_rwlockattr_setkind_np(&a, 4711);
}

int main(void)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = KINDS[i].name;
    return ask_all(names, COUNT) != 0;
}
