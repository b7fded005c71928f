// Turnwise's locks in C++17: they meet the standard's requirements (Lockable, TimedLockable, SharedLockable), so that
// std::lock_guard, std::unique_lock, std::shared_lock, std::scoped_lock and std::condition_variable_any work with them.
// Everything is inline over turnwise.h. Nothing throws, and nothing allocates.
#ifndef TURNWISE_HPP
#define TURNWISE_HPP

#include "turnwise.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

namespace turnwise {

namespace detail {

// The nanoseconds of a duration, in a type that holds those of the longest.
template <class Rep, class Period>
long double wide_nanoseconds(const std::chrono::duration<Rep, Period> &duration) noexcept
{
    return std::chrono::duration<long double, std::nano>(duration).count();
}

// Rounds nanoseconds up to a whole number; 0 if negative, the maximum if there are too many.
inline std::uint64_t whole_nanoseconds(long double ns) noexcept
{
    if (!(ns > 0))
        return 0;
    if (ns >= static_cast<long double>(INT64_MAX))
        return UINT64_MAX;
    const std::uint64_t whole = static_cast<std::uint64_t>(ns);
    return whole + (static_cast<long double>(whole) < ns);
}

template <class Rep, class Period>
std::uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &duration) noexcept
{
    return whole_nanoseconds(wide_nanoseconds(duration));
}

// The nanoseconds until a clock shows `time`; negative if that has passed.
template <class Clock, class Duration>
long double nanoseconds_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
{
    return wide_nanoseconds(time.time_since_epoch()) - wide_nanoseconds(Clock::now().time_since_epoch());
}

// The time on TW_CLOCK_MONOTONIC in `ns` nanoseconds.
inline std::uint64_t after(std::uint64_t ns) noexcept
{
    const std::uint64_t now = tw_now_ns(TW_CLOCK_MONOTONIC);
    return ns > UINT64_MAX - now ? UINT64_MAX : now + ns;
}

// Calls `attempt(clock, at_ns)` once, for a point in time. The steady and the system clock are the kernel's. A wait on
// any other clock ends when that clock would show `time` if it ran like the steady one: this may be too early.
template <class Clock, class Duration, class Attempt>
tw_result once_until(const std::chrono::time_point<Clock, Duration> &time, Attempt attempt) noexcept
{
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>)
        return attempt(TW_CLOCK_MONOTONIC, nanoseconds(time.time_since_epoch()));
    else if constexpr (std::is_same_v<Clock, std::chrono::system_clock>)
        return attempt(TW_CLOCK_REALTIME, nanoseconds(time.time_since_epoch()));
    else
        return attempt(TW_CLOCK_MONOTONIC, after(whole_nanoseconds(nanoseconds_until(time))));
}

// Whether the clock shows that the time has come, where `once_until` may be too early.
template <class Clock, class Duration>
bool has_come(const std::chrono::time_point<Clock, Duration> &time) noexcept
{
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock> || std::is_same_v<Clock, std::chrono::system_clock>)
        return true;
    else
        return nanoseconds_until(time) <= 0;
}

// Calls `attempt` like `once_until`, again and again until the clock shows `time`.
template <class Clock, class Duration, class Attempt>
tw_result until(const std::chrono::time_point<Clock, Duration> &time, Attempt attempt) noexcept
{
    for (;;) {
        const tw_result result = once_until(time, attempt);
        if (result != TW_TIMEDOUT || has_come(time))
            return result;
    }
}

} // namespace detail

// The version of the library that the program runs with.
inline const char *version() noexcept
{
    return tw_version();
}

// A mutex: tw_mutex. It meets TimedLockable.
class mutex {
public:
    using native_handle_type = tw_mutex *;

    constexpr mutex() noexcept = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock() noexcept { tw_mutex_lock(&raw_); }
    bool try_lock() noexcept { return tw_mutex_trylock(&raw_) == TW_OK; }
    void unlock() noexcept { tw_mutex_unlock(&raw_); }
    // Releases the mutex to the thread that has slept for it longest, if one sleeps.
    void unlock_fair() noexcept { tw_mutex_unlock_fair(&raw_); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &timeout) noexcept
    {
        return tw_mutex_lock_for(&raw_, detail::nanoseconds(timeout)) == TW_OK;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        return detail::until(time, [this](int clock, std::uint64_t at) {
            return tw_mutex_lock_until(&raw_, clock, at);
        }) == TW_OK;
    }

    native_handle_type native_handle() noexcept { return &raw_; }

private:
    tw_mutex raw_ = TW_MUTEX_INIT;
};

// The same under the standard's other name.
using timed_mutex = mutex;

// A mutex that its owner may lock again: a tw_mutex, its owner, and how often that has it. It meets TimedLockable.
class recursive_mutex {
public:
    constexpr recursive_mutex() noexcept = default;
    recursive_mutex(const recursive_mutex &) = delete;
    recursive_mutex &operator=(const recursive_mutex &) = delete;

    void lock() noexcept
    {
        if (!again()) {
            raw_.lock();
            own();
        }
    }

    bool try_lock() noexcept { return again() || (raw_.try_lock() && own()); }

    void unlock() noexcept
    {
        if (--depth_ == 0) {
            owner_.store(nullptr, std::memory_order_relaxed);
            raw_.unlock();
        }
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &timeout) noexcept
    {
        return again() || (raw_.try_lock_for(timeout) && own());
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        return again() || (raw_.try_lock_until(time) && own());
    }

private:
    // The address of a variable that each thread has for itself.
    static const void *here() noexcept
    {
        static thread_local char variable;
        return &variable;
    }

    // Locks it once more if this thread has it. Another thread never finds its own address there: relaxed suffices.
    bool again() noexcept
    {
        if (owner_.load(std::memory_order_relaxed) != here())
            return false;
        depth_++;
        return true;
    }

    bool own() noexcept
    {
        owner_.store(here(), std::memory_order_relaxed);
        depth_ = 1;
        return true;
    }

    mutex raw_;
    std::atomic<const void *> owner_{nullptr};
    std::size_t depth_ = 0; // the owner's
};

// The same under the standard's other name.
using recursive_timed_mutex = recursive_mutex;

// A function that is called once, whichever thread comes first: see call_once.
class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag &) = delete;
    once_flag &operator=(const once_flag &) = delete;

private:
    template <class Function, class... Arguments>
    friend void call_once(once_flag &flag, Function &&function, Arguments &&...arguments);

    mutex calls_;
    std::atomic<bool> done_{false};
};

// Calls the function unless a call for this flag has returned; waits while another thread calls one. If it throws, the
// next caller tries again.
template <class Function, class... Arguments>
void call_once(once_flag &flag, Function &&function, Arguments &&...arguments)
{
    // Acquire: pairs with the release store: shows what the function wrote.
    if (flag.done_.load(std::memory_order_acquire))
        return;
    std::lock_guard<mutex> calls(flag.calls_);
    if (flag.done_.load(std::memory_order_relaxed))
        return;
    std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
    flag.done_.store(true, std::memory_order_release);
}

// A condition variable for turnwise::mutex: smaller and quicker than std::condition_variable_any, which works as well.
class condition_variable {
public:
    using native_handle_type = tw_cond *;

    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    void notify_one() noexcept { tw_cond_signal(&raw_); }
    void notify_all() noexcept { tw_cond_broadcast(&raw_); }

    void wait(std::unique_lock<mutex> &lock) noexcept { tw_cond_wait(&raw_, lock.mutex()->native_handle()); }

    template <class Predicate>
    void wait(std::unique_lock<mutex> &lock, Predicate predicate)
    {
        while (!predicate())
            wait(lock);
    }

    template <class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<mutex> &lock,
                              const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        const tw_result result = detail::once_until(time, [&](int clock, std::uint64_t at) {
            return tw_cond_wait_until(&raw_, lock.mutex()->native_handle(), clock, at);
        });
        // If the wait ended too early the caller checks its condition: a notification may have come in between.
        const bool timed_out = result == TW_TIMEDOUT && detail::has_come(time);
        return timed_out ? std::cv_status::timeout : std::cv_status::no_timeout;
    }

    template <class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<mutex> &lock, const std::chrono::time_point<Clock, Duration> &time,
                    Predicate predicate)
    {
        while (!predicate())
            if (wait_until(lock, time) == std::cv_status::timeout)
                return predicate();
        return true;
    }

    template <class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<mutex> &lock, const std::chrono::duration<Rep, Period> &timeout) noexcept
    {
        const std::uint64_t ns = detail::nanoseconds(timeout);
        const tw_result result = tw_cond_wait_for(&raw_, lock.mutex()->native_handle(), ns);
        return result == TW_TIMEDOUT ? std::cv_status::timeout : std::cv_status::no_timeout;
    }

    template <class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<mutex> &lock, const std::chrono::duration<Rep, Period> &timeout,
                  Predicate predicate)
    {
        const std::uint64_t at = detail::after(detail::nanoseconds(timeout));
        while (!predicate())
            if (tw_cond_wait_until(&raw_, lock.mutex()->native_handle(), TW_CLOCK_MONOTONIC, at) == TW_TIMEDOUT)
                return predicate();
        return true;
    }

    native_handle_type native_handle() noexcept { return &raw_; }

private:
    tw_cond raw_ = TW_COND_INIT;
};

// A readers-writer lock: tw_rwsem. It meets TimedLockable and SharedTimedLockable. A thread that holds it for reading
// must not lock it again.
class shared_mutex {
public:
    using native_handle_type = tw_rwsem *;

    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    void lock() noexcept { tw_rwsem_write(&raw_); }
    bool try_lock() noexcept { return tw_rwsem_trywrite(&raw_) == TW_OK; }
    void unlock() noexcept { tw_rwsem_unlock_write(&raw_); }
    void lock_shared() noexcept { tw_rwsem_read(&raw_); }
    bool try_lock_shared() noexcept { return tw_rwsem_tryread(&raw_) == TW_OK; }
    void unlock_shared() noexcept { tw_rwsem_unlock_read(&raw_); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &timeout) noexcept
    {
        return tw_rwsem_write_for(&raw_, detail::nanoseconds(timeout)) == TW_OK;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        return detail::until(time, [this](int clock, std::uint64_t at) {
            return tw_rwsem_write_until(&raw_, clock, at);
        }) == TW_OK;
    }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &timeout) noexcept
    {
        return tw_rwsem_read_for(&raw_, detail::nanoseconds(timeout)) == TW_OK;
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        return detail::until(time, [this](int clock, std::uint64_t at) {
            return tw_rwsem_read_until(&raw_, clock, at);
        }) == TW_OK;
    }

    // Acquires it for reading with the right to upgrade: beside readers, but one thread at a time.
    void lock_upgradable() noexcept { tw_rwsem_upgradable(&raw_); }
    bool try_lock_upgradable() noexcept { return tw_rwsem_tryupgradable(&raw_) == TW_OK; }
    void unlock_upgradable() noexcept { tw_rwsem_unlock_upgradable(&raw_); }
    // Turns an upgradable lock into an exclusive one; waits for the readers to leave.
    void upgrade() noexcept { tw_rwsem_upgrade(&raw_); }
    bool try_upgrade() noexcept { return tw_rwsem_tryupgrade(&raw_) == TW_OK; }
    // Turns an exclusive lock into a shared one.
    void downgrade() noexcept { tw_rwsem_downgrade(&raw_); }

    native_handle_type native_handle() noexcept { return &raw_; }

private:
    tw_rwsem raw_ = TW_RWSEM_INIT;
};

// The same under the standard's other name.
using shared_timed_mutex = shared_mutex;

// A spin lock: tw_spinlock. It meets Lockable. For sections of a few instructions, with no more threads than CPUs.
class spinlock {
public:
    constexpr spinlock() noexcept = default;
    spinlock(const spinlock &) = delete;
    spinlock &operator=(const spinlock &) = delete;

    void lock() noexcept { tw_spinlock_lock(&raw_); }
    bool try_lock() noexcept { return tw_spinlock_trylock(&raw_) == TW_OK; }
    void unlock() noexcept { tw_spinlock_unlock(&raw_); }

private:
    tw_spinlock raw_ = TW_SPINLOCK_INIT;
};

// A counting semaphore: tw_semaphore. acquire and release return why they failed, as tw_result.
class semaphore {
public:
    constexpr explicit semaphore(std::uint32_t permits) noexcept : raw_ TW_SEMAPHORE_INIT(permits) {}
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;

    tw_result acquire(std::uint32_t n = 1) noexcept { return tw_semaphore_acquire(&raw_, n); }
    bool try_acquire(std::uint32_t n = 1) noexcept { return tw_semaphore_tryacquire(&raw_, n) == TW_OK; }
    tw_result release(std::uint32_t n = 1) noexcept { return tw_semaphore_release(&raw_, n); }
    std::uint32_t available() const noexcept { return tw_semaphore_available(&raw_); }

    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &timeout, std::uint32_t n = 1) noexcept
    {
        return tw_semaphore_acquire_for(&raw_, n, detail::nanoseconds(timeout)) == TW_OK;
    }

    template <class Clock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time, std::uint32_t n = 1) noexcept
    {
        return detail::until(time, [this, n](int clock, std::uint64_t at) {
            return tw_semaphore_acquire_until(&raw_, n, clock, at);
        }) == TW_OK;
    }

private:
    tw_semaphore raw_;
};

// A counting semaphore with the interface of C++20's. More permits than max() are not given.
template <std::ptrdiff_t LeastMaxValue = TW_PERMITS_MAX>
class counting_semaphore {
    static_assert(LeastMaxValue >= 0 && LeastMaxValue <= TW_PERMITS_MAX, "at most TW_PERMITS_MAX permits");

public:
    constexpr explicit counting_semaphore(std::ptrdiff_t permits) noexcept
        : raw_(static_cast<std::uint32_t>(permits))
    {
    }

    static constexpr std::ptrdiff_t(max)() noexcept { return LeastMaxValue; }

    void acquire() noexcept { (void)raw_.acquire(); }
    bool try_acquire() noexcept { return raw_.try_acquire(); }
    void release(std::ptrdiff_t n = 1) noexcept { (void)raw_.release(static_cast<std::uint32_t>(n)); }

    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &timeout) noexcept
    {
        return raw_.try_acquire_for(timeout);
    }

    template <class Clock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time) noexcept
    {
        return raw_.try_acquire_until(time);
    }

private:
    semaphore raw_;
};

// The same for one permit.
using binary_semaphore = counting_semaphore<1>;

// A small value that is read far more often than written: tw_seqrwlock and the value's words. Reads write nothing; a
// read in which a writer interfered is repeated once, with writers excluded.
template <class T>
class seq_value {
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>, "a plain value");

public:
    explicit seq_value(const T &value = T()) noexcept { put(value); }
    seq_value(const seq_value &) = delete;
    seq_value &operator=(const seq_value &) = delete;

    T load() const noexcept
    {
        T value;
        std::uint64_t pass = tw_seqrwlock_begin_or_lock(&lock_);
        do
            value = get();
        while (tw_seqrwlock_retry_or_lock(&lock_, &pass));
        tw_seqrwlock_done(&lock_, pass);
        return value;
    }

    void store(const T &value) noexcept
    {
        tw_seqrwlock_write(&lock_);
        put(value);
        tw_seqrwlock_unlock_write(&lock_);
    }

    // Changes the value by a function of it. The function must not use this object.
    template <class Change>
    void update(Change change)
    {
        struct writer {
            tw_seqrwlock *lock;
            explicit writer(tw_seqrwlock *l) : lock(l) { tw_seqrwlock_write(lock); }
            ~writer() { tw_seqrwlock_unlock_write(lock); }
            writer(const writer &) = delete;
            writer &operator=(const writer &) = delete;
        } held(&lock_);
        T value = get();
        change(value);
        put(value);
    }

private:
    static constexpr std::size_t words = (sizeof(T) + sizeof(std::uintptr_t) - 1) / sizeof(std::uintptr_t);

    T get() const noexcept
    {
        std::uintptr_t copy[words];
        for (std::size_t i = 0; i < words; i++)
            copy[i] = words_[i].load(std::memory_order_relaxed);
        T value;
        std::memcpy(&value, copy, sizeof value);
        return value;
    }

    void put(const T &value) noexcept
    {
        std::uintptr_t copy[words] = {};
        std::memcpy(copy, &value, sizeof value);
        for (std::size_t i = 0; i < words; i++)
            words_[i].store(copy[i], std::memory_order_relaxed);
    }

    mutable tw_seqrwlock lock_ = TW_SEQRWLOCK_INIT;
    std::atomic<std::uintptr_t> words_[words];
};

} // namespace turnwise

#endif
