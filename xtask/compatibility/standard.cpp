// The C++ library's mutexes, shared and timed ones, condition variables, semaphores, latches, barriers, futures.
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

int main()
{
    std::mutex mutex, other;
    std::shared_timed_mutex shared;
    std::recursive_timed_mutex recursive;
    std::condition_variable_any changed;
    std::counting_semaphore<2> semaphore(2);
    std::latch latch(8);
    std::barrier barrier(8);
    long count = 0, both = 0, written = 0, turns = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&, i] {
            for (int turn = 0; turn < 10000; turn++) { std::lock_guard guard(mutex); count++; }
            for (int turn = 0; turn < 5000; turn++) {
                std::scoped_lock guard(i % 2 ? mutex : other, i % 2 ? other : mutex);
                both++;
            }
            barrier.arrive_and_wait();
            for (int turn = 0; turn < 250; turn++) {
                { std::shared_lock reader(shared); if (written < 0) return; }
                std::unique_lock writer(shared, std::chrono::seconds(60));
                std::lock_guard once(recursive), again(recursive);
                written += writer.owns_lock();
            }
            semaphore.acquire();
            semaphore.release();
            latch.arrive_and_wait();
            std::unique_lock lock(recursive);
            changed.wait(lock, [&] { return turns == i; });
            turns++;
            changed.notify_all();
        });
    threads.clear();
    std::vector<std::future<int>> futures;
    for (int i = 1; i <= 8; i++) futures.push_back(std::async(std::launch::async, [i] { return i; }));
    int sum = 0;
    for (auto &future : futures) sum += future.get();
    std::unique_lock lock(mutex);
    std::condition_variable never;
    bool late = never.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::timeout;
    std::printf("%ld %ld %ld %ld %d %s\n", count, both, written, turns, sum, late ? "late" : "early");
}
