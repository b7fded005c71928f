// The same of C++'s mutexes and condition variables; with an argument, a race. Status 7 if all is right.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::mutex plain;
static std::shared_mutex shared;
static std::shared_timed_mutex shared_timed;
static std::timed_mutex timed;
static std::recursive_mutex recursive;
static std::recursive_timed_mutex recursive_timed;
static std::condition_variable changed;
static std::condition_variable_any changed_any;
static long counts[6], races;
static bool may_go;
static int done;

static void work(bool is_racing)
{
    // Before the first lock: nothing orders the threads then, in whatever order they run.
    if (is_racing)
        races++;
    {
        std::shared_lock lock(shared_timed);
        changed_any.wait(lock, [] { return may_go; });
    }
    for (int i = 0; i < 500; i++) {
        { std::lock_guard lock(plain); counts[0]++; }
        { std::unique_lock lock(shared); counts[1]++; }
        { std::shared_lock lock(shared); if (counts[1] == 0) std::puts("lost"); }
        { std::unique_lock lock(shared_timed); counts[2]++; }
        { std::unique_lock lock(timed); counts[3]++; }
        { std::lock_guard lock(recursive); std::lock_guard again(recursive); counts[4]++; }
        { std::unique_lock lock(recursive_timed); counts[5]++; }
    }
    std::lock_guard lock(plain);
    done++;
    changed.notify_all();
}

int main(int count, char **)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, count > 1);
    {
        std::unique_lock lock(shared_timed);
        may_go = true;
    }
    changed_any.notify_all();
    {
        std::unique_lock lock(plain);
        if (!changed.wait_for(lock, std::chrono::seconds(60), [] { return done == 4; }))
            return 1;
    }
    for (auto &thread : threads)
        thread.join();
    for (long found : counts)
        if (found != 4 * 500)
            return 1;
    return 7;
}
