// What C++'s library makes of pthreads.
#include "check.h"
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

template <class M> static void check_counts()
{
    M mutex;
    long count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int j = 0; j < times(5000); j++) {
                std::lock_guard<M> guard(mutex);
                count++;
            }
        });
    for (auto &t : threads)
        t.join();
    CHECK_EQ(count, 4 * times(5000));
}

template <class M> static void check_timeouts()
{
    M mutex;
    mutex.lock();
    std::thread([&] {
        CHECK(!mutex.try_lock());
        CHECK(!mutex.try_lock_for(10ms));
        CHECK(!mutex.try_lock_until(std::chrono::system_clock::now() + 10ms));
        CHECK(!mutex.try_lock_until(std::chrono::steady_clock::now() + 10ms));
    }).join();
    mutex.unlock();
    CHECK(mutex.try_lock_for(10ms));
    mutex.unlock();
}

static void check_recursive()
{
    std::recursive_mutex mutex;
    std::lock_guard<std::recursive_mutex> one(mutex), two(mutex);
    std::thread([&] { CHECK(!mutex.try_lock()); }).join();
}

template <class C, class M> static void check_condition()
{
    M mutex;
    C changed;
    int turn = 0;
    auto play = [&](int me) {
        for (int i = 0; i < times(500); i++) {
            std::unique_lock<M> lock(mutex);
            changed.wait(lock, [&] { return turn % 2 == me; });
            turn++;
            changed.notify_all();
        }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
    CHECK_EQ(turn, 2 * times(500));
    std::unique_lock<M> lock(mutex);
    auto begun = std::chrono::steady_clock::now();
    CHECK(!changed.wait_for(lock, 20ms, [] { return false; }));
    CHECK(!changed.wait_until(lock, std::chrono::system_clock::now() + 20ms, [] { return false; }));
    CHECK(std::chrono::steady_clock::now() - begun >= 39ms);
}

static void check_shared()
{
    std::shared_timed_mutex mutex;
    std::shared_lock<std::shared_timed_mutex> reader(mutex);
    std::thread([&] {
        CHECK(mutex.try_lock_shared());
        mutex.unlock_shared();
        CHECK(!mutex.try_lock_for(5ms));
    }).join();
}

int main()
{
    check_counts<std::mutex>();
    check_counts<std::recursive_mutex>();
    check_counts<std::timed_mutex>();
    check_counts<std::recursive_timed_mutex>();
    check_counts<std::shared_mutex>();
    check_timeouts<std::timed_mutex>();
    check_timeouts<std::recursive_timed_mutex>();
    check_recursive();
    check_condition<std::condition_variable, std::mutex>();
    check_condition<std::condition_variable_any, std::recursive_mutex>();
    check_shared();
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread([&] { promise.set_value_at_thread_exit(5); }).join();
    CHECK_EQ(future.get(), 5);
    std::once_flag once;
    int calls = 0;
    std::call_once(once, [&] { calls++; });
    CHECK_EQ(calls, 1);
    return 0;
}
