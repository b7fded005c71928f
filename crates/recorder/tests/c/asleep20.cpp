/* What C++20 waits on: `asleep20`. Nobody waits for `room`, whose releases call the kernel nevertheless. */
#include <atomic>
#include <latch>
#include <semaphore>
#include <thread>

#include "sleeps.h"

std::counting_semaphore<> items{0}, room{0};
std::latch ready{1};
std::atomic<int> flag{0};
static atomic_int tid;

static void consume()
{
    tid = my_tid();
    ready.wait();
    tid = my_tid();
    items.acquire();
    tid = my_tid();
    flag.wait(0);
}

/* Until the consumer sleeps in its next wait. */
static void await_next()
{
    await_asleep(&tid);
    tid = 0;
}

__attribute__((noinline)) static void release()
{
    for (int i = 0; i < 1000; i++) {
        room.release();
        room.acquire();
    }
}

int main()
{
    std::thread consumer(consume);
    await_next();
    ready.count_down();
    await_next();
    items.release();
    await_next();
    flag = 1;
    flag.notify_one();
    consumer.join();
    release();
}
