// turnwise.hpp with the standard library's guards and condition variable, in C++17.
#include "check.h"
#include "turnwise.hpp"
#include <functional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static void in_threads(int number, const std::function<void()> &body)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < number; i++)
        threads.emplace_back(body);
    for (auto &thread : threads)
        thread.join();
}

static turnwise::mutex global; // constant-initialised: usable before main

static void guards()
{
    turnwise::mutex first, second;
    turnwise::spinlock third;
    long count = 0;
    in_threads(4, [&] {
        for (int i = 0; i < 2000; i++) {
            std::lock_guard guard(global);
            std::scoped_lock both(first, second, third);
            count++;
        }
    });
    CHECK(count == 8000);
    std::unique_lock lock(first, std::try_to_lock);
    CHECK(lock.owns_lock());
    in_threads(1, [&] {
        CHECK(!first.try_lock());
        CHECK(!first.try_lock_for(2ms));
        CHECK(!first.try_lock_for(-1s));
        CHECK(!first.try_lock_until(std::chrono::steady_clock::now() + 2ms));
        CHECK(!first.try_lock_until(std::chrono::system_clock::now() - 1h));
        CHECK(!std::unique_lock(first, 1ms).owns_lock());
    });
    lock.unlock();
    CHECK(first.try_lock_for(std::chrono::hours(24 * 365 * 1000)));
    first.unlock_fair();
}

// A clock of the program's own.
struct other_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<other_clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept
    {
        const auto since = std::chrono::steady_clock::now().time_since_epoch();
        return time_point(std::chrono::duration_cast<duration>(since) / 2);
    }
};

static void other_clocks()
{
    turnwise::mutex mutex;
    std::lock_guard guard(mutex);
    in_threads(1, [&] {
        const auto begun = std::chrono::steady_clock::now();
        CHECK(!mutex.try_lock_until(other_clock::now() + 5ms)); // at half the speed
        CHECK(std::chrono::steady_clock::now() - begun >= 8ms);
    });
}

static void shared()
{
    turnwise::shared_mutex mutex;
    long value = 0;
    in_threads(4, [&] {
        for (int i = 0; i < 1000; i++) {
            std::unique_lock write(mutex);
            value++;
            write.unlock();
            std::shared_lock read(mutex);
            CHECK(value > 0);
        }
    });
    CHECK(value == 4000);
    std::shared_lock read(mutex);
    in_threads(1, [&] {
        CHECK(mutex.try_lock_shared_for(1ms));
        mutex.unlock_shared();
        CHECK(!mutex.try_lock());
        CHECK(!mutex.try_lock_until(std::chrono::system_clock::now() + 1ms));
        CHECK(!std::unique_lock(mutex, 1ms).owns_lock());
        CHECK(std::shared_lock(mutex, std::chrono::steady_clock::now()).owns_lock());
    });
    read.unlock();
    mutex.lock_upgradable();
    mutex.upgrade();
    CHECK(!mutex.try_lock_shared());
    mutex.downgrade();
    CHECK(mutex.try_lock_shared());
    mutex.unlock_shared();
    mutex.unlock_shared();
    CHECK(mutex.try_lock_upgradable() && mutex.try_upgrade());
    mutex.unlock();
}

template <class Condition>
static void hand_over()
{
    turnwise::mutex mutex;
    Condition changed;
    int turn = 0;
    auto play = [&](int me) {
        for (int i = 0; i < 1000; i++) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn % 2 == me; });
            turn++;
            changed.notify_all();
        }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
    CHECK(turn == 2000);
    std::unique_lock lock(mutex);
    CHECK(!changed.wait_for(lock, 2ms, [] { return false; }));
    CHECK(changed.wait_until(lock, std::chrono::steady_clock::now() + 1h, [] { return true; }));
    while (changed.wait_for(lock, 1ms) != std::cv_status::timeout) {
    }
    while (changed.wait_until(lock, std::chrono::system_clock::now() - 1s) != std::cv_status::timeout) {
    }
    CHECK(lock.owns_lock());
}

// A clock that only the test moves.
struct hand_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<hand_clock>;
    static constexpr bool is_steady = true;
    static inline std::atomic<rep> shows{-1000};
    static time_point now() noexcept { return time_point(duration(shows.load())); }
};

// A wait whose inner time-out comes early must let the caller look: here the notification comes while the waiter, its
// time out on the kernel's clock, waits for the mutex, and the clock never gets to the end.
static void no_notification_is_lost_on_another_clock()
{
    turnwise::mutex mutex;
    turnwise::condition_variable changed;
    bool flag = false;
    std::unique_lock lock(mutex);
    std::thread notifier([&] {
        std::lock_guard guard(mutex);
        std::this_thread::sleep_for(100ms);
        flag = true;
        changed.notify_one();
    });
    while (!flag)
        CHECK(changed.wait_until(lock, hand_clock::now() + 10ms) == std::cv_status::no_timeout);
    CHECK(changed.wait_until(lock, hand_clock::now() + 10ms, [&] { return flag; }));
    const auto soon = hand_clock::now() + 5ms;
    CHECK(changed.wait_until(lock, soon) == std::cv_status::no_timeout); // too early
    hand_clock::shows += 5;
    CHECK(changed.wait_until(lock, soon) == std::cv_status::timeout);
    CHECK(!changed.wait_until(lock, soon, [] { return false; }));
    CHECK(!mutex.try_lock_until(soon));
    lock.unlock();
    notifier.join();
}

// Waits, by `wait(lock, condition, predicate)`, that must not end before the notification.
template <class Wait>
static void longest(Wait wait)
{
    turnwise::mutex mutex;
    turnwise::condition_variable changed;
    bool flag = false;
    std::unique_lock lock(mutex);
    std::thread notifier([&] {
        std::this_thread::sleep_for(20ms);
        std::lock_guard guard(mutex);
        flag = true;
        changed.notify_all();
    });
    CHECK(wait(lock, changed, [&] { return flag; }));
    CHECK(flag && lock.owns_lock());
    lock.unlock();
    notifier.join();
}

template <class Duration>
static void longest_for()
{
    longest([](auto &lock, auto &changed, auto is_set) { return changed.wait_for(lock, Duration::max(), is_set); });
    longest([](auto &lock, auto &changed, auto is_set) {
        while (!is_set())
            CHECK(changed.wait_for(lock, Duration::max()) == std::cv_status::no_timeout);
        return true;
    });
}

template <class Clock, class Duration>
static void longest_until()
{
    constexpr auto end = std::chrono::time_point<Clock, Duration>::max();
    longest([&](auto &lock, auto &changed, auto is_set) { return changed.wait_until(lock, end, is_set); });
    longest([&](auto &lock, auto &changed, auto is_set) {
        while (!is_set())
            CHECK(changed.wait_until(lock, end) == std::cv_status::no_timeout);
        return true;
    });
}

static void no_time_is_too_long()
{
    longest_for<std::chrono::nanoseconds>();
    longest_for<std::chrono::hours>();
    longest_for<std::chrono::duration<double>>();
    longest_until<std::chrono::steady_clock, std::chrono::nanoseconds>();
    longest_until<std::chrono::system_clock, std::chrono::hours>();
    longest_until<hand_clock, std::chrono::nanoseconds>(); // it shows a negative time
    longest_until<hand_clock, std::chrono::hours>();
    turnwise::mutex mutex;
    CHECK(mutex.try_lock_for(std::chrono::hours::max()));
    in_threads(1, [&] { CHECK(!mutex.try_lock_until(hand_clock::time_point::min())); });
    mutex.unlock();
}

static void permits()
{
    turnwise::semaphore rooms(2);
    std::atomic<int> inside{0};
    in_threads(4, [&] {
        for (int i = 0; i < 500; i++) {
            CHECK(rooms.acquire() == TW_OK);
            CHECK(++inside <= 2);
            --inside;
            CHECK(rooms.release() == TW_OK);
        }
    });
    CHECK(rooms.available() == 2 && rooms.try_acquire(2) && !rooms.try_acquire_for(1ms));
    CHECK(rooms.release(TW_PERMITS_MAX) == TW_OK && rooms.release() == TW_OVERFLOW);
}

struct point {
    double x, y, z;
    char tag;
};

static void values()
{
    turnwise::seq_value<point> shared(point{0, 0, 0, 'a'});
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (int i = 1; i <= 20000; i++) {
            const double d = i;
            if (i % 2)
                shared.store(point{d, -d, 2 * d, 'b'});
            else
                shared.update([](point &p) { p.x += 1, p.y -= 1, p.z += 2; });
        }
        stop = true;
    });
    while (!stop) {
        const point p = shared.load();
        CHECK(p.x + p.y == 0 && p.z == 2 * p.x);
    }
    writer.join();
    CHECK(shared.load().x == 20000 && shared.load().tag == 'b');
}

static void again_and_again()
{
    turnwise::recursive_mutex mutex;
    long count = 0;
    in_threads(4, [&] {
        for (int i = 0; i < 2000; i++) {
            std::lock_guard outer(mutex);
            std::unique_lock inner(mutex, 1ms);
            CHECK(inner.owns_lock() && mutex.try_lock());
            count++;
            mutex.unlock();
        }
    });
    CHECK(count == 8000);
    std::lock_guard outer(mutex);
    CHECK(mutex.try_lock_for(1ms));
    mutex.unlock();
    in_threads(1, [&] {
        CHECK(!mutex.try_lock() && !mutex.try_lock_for(2ms));
        CHECK(!mutex.try_lock_until(std::chrono::steady_clock::now() + 2ms));
    });
}

static turnwise::once_flag once; // constant-initialised

static void only_once()
{
    std::atomic<int> calls{0}, thrown{0};
    in_threads(4, [&] {
        try {
            turnwise::call_once(once, [&](int by) {
                if ((calls += by) == 1)
                    throw 7;
            }, 1);
        } catch (int) {
            thrown++;
        }
    });
    CHECK(calls == 2 && thrown == 1);
}

static void counted()
{
    turnwise::counting_semaphore<3> some(2);
    static_assert(turnwise::binary_semaphore::max() == 1 && decltype(some)::max() == 3);
    std::atomic<int> inside{0};
    in_threads(4, [&] {
        for (int i = 0; i < 2000; i++) {
            some.acquire();
            CHECK(++inside <= 2);
            inside--;
            some.release();
        }
    });
    CHECK(some.try_acquire() && some.try_acquire_for(1ms));
    CHECK(!some.try_acquire() && !some.try_acquire_for(2ms));
    CHECK(!some.try_acquire_until(std::chrono::steady_clock::now() + 2ms));
    some.release(2);
    CHECK(some.try_acquire_until(std::chrono::system_clock::now() + 1h));
}

int main()
{
    turnwise::timed_mutex timed;
    turnwise::shared_timed_mutex shared_timed;
    turnwise::recursive_timed_mutex recursive_timed;
    CHECK(timed.try_lock_for(1ms) && shared_timed.try_lock_for(1ms) && recursive_timed.try_lock_for(1ms));
    again_and_again();
    only_once();
    counted();
    static_assert(sizeof(turnwise::mutex) == 8 && sizeof(turnwise::shared_mutex) == 12);
    static_assert(std::is_nothrow_default_constructible_v<turnwise::mutex>);
    static_assert(!std::is_copy_constructible_v<turnwise::mutex>);
    guards();
    other_clocks();
    shared();
    hand_over<turnwise::condition_variable>();
    hand_over<std::condition_variable_any>();
    no_notification_is_lost_on_another_clock();
    no_time_is_too_long();
    permits();
    values();
    CHECK(std::string(turnwise::version()) == tw_version());
    return 0;
}
