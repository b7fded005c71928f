// cc -O2 -pthread layout.c -o layout; for i in $(seq 12); do ./layout; done
// The same loops in process after process: in some the restartable sequence costs 5.8 ns instead of 2.2.
#define main micro_main
#include "micro.c"
#undef main

#define CALL(name, unlock)                                                                                   \
    __attribute__((noinline, noipa)) int name(struct lock *l) {                                              \
        unlock(l);                                                                                           \
        return 0;                                                                                            \
    }
CALL(call_lock, lock_)
CALL(call_cas, unlock_cas)
CALL(call_store, unlock_store)
CALL(call_rseq, unlock_rseq)

#define TIME(name, lock, unlock)                                                                             \
    {                                                                                                        \
        double best = 1e9;                                                                                   \
        for (int r = 0; r < 7; r++) {                                                                        \
            double begin = now();                                                                            \
            for (int i = 0; i < 500000; i++) {                                                               \
                lock(&locks[0]);                                                                             \
                unlock(&locks[0]);                                                                           \
            }                                                                                                \
            double each = (now() - begin) / 500000;                                                          \
            best = each < best ? each : best;                                                                \
        }                                                                                                    \
        printf(" %s %.2f", name, best);                                                                      \
    }

int main(void) {
    OFF = __rseq_offset;
    printf("area %p lock %p:", (char *)__builtin_thread_pointer() + OFF, (void *)&locks[0]);
    TIME("called: cas", call_lock, call_cas)
    TIME("store", call_lock, call_store)
    TIME("rseq", call_lock, call_rseq)
    TIME("inline: cas", lock_, unlock_cas)
    TIME("store", lock_, unlock_store)
    TIME("rseq", lock_, unlock_rseq)
    puts("");
}
