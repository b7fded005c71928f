// std::shared_mutex and std::shared_timed_mutex, which are pthread_rwlock_t inside.
#include "check.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

template <class Mutex> static void many_threads()
{
    Mutex mutex;
    long first = 0, second = 0;
    std::vector<std::thread> threads;
    for (int number = 0; number < 6; number++)
        threads.emplace_back([&, number] {
            for (int round = 0; round < 3000; round++) {
                if ((round + number) % 4 == 0) {
                    std::unique_lock<Mutex> lock(mutex);
                    first++;
                    second++;
                } else {
                    std::shared_lock<Mutex> lock(mutex);
                    CHECK_EQ(first, second);
                }
            }
        });
    for (auto &thread : threads)
        thread.join();
    CHECK_EQ(first, 6 * 750);
}

template <class Mutex> static void try_locks()
{
    Mutex mutex;
    mutex.lock();
    std::thread([&] {
        CHECK(!mutex.try_lock());
        CHECK(!mutex.try_lock_shared());
    }).join();
    mutex.unlock();
    mutex.lock_shared();
    std::thread([&] {
        CHECK(!mutex.try_lock());
        CHECK(mutex.try_lock_shared());
        mutex.unlock_shared();
    }).join();
    mutex.unlock_shared();
}

static void timed()
{
    using namespace std::chrono;
    std::shared_timed_mutex mutex;
    mutex.lock();
    std::thread([&] {
        auto begun = steady_clock::now();
        CHECK(!mutex.try_lock_shared_for(milliseconds(20)));
        CHECK(!mutex.try_lock_until(system_clock::now() + milliseconds(20)));
        CHECK(steady_clock::now() - begun >= milliseconds(38));
    }).join();
    mutex.unlock();
    CHECK(mutex.try_lock_for(milliseconds(20)));
    mutex.unlock();
}

int main()
{
    many_threads<std::shared_mutex>();
    many_threads<std::shared_timed_mutex>();
    try_locks<std::shared_mutex>();
    try_locks<std::shared_timed_mutex>();
    timed();
    return 0;
}
