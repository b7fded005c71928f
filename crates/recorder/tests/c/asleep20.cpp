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
    items.acquire();
    flag.wait(0);
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
    await_asleep(&tid);
    ready.count_down();
    usleep(20000);
    items.release();
    usleep(20000);
    flag = 1;
    flag.notify_one();
    consumer.join();
    release();
}
