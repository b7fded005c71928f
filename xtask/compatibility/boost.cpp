// Mutexes, shared and upgradable ones, barriers, interruption, condition variables and futures of Boost.Thread.
#define BOOST_THREAD_VERSION 4
#include <boost/thread.hpp>
#include <boost/thread/barrier.hpp>
#include <boost/thread/future.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

int main()
{
    boost::mutex mutex;
    boost::shared_mutex shared;
    boost::barrier barrier(8);
    long count = 0, passed = 0, upgraded = 0;
    boost::thread_group threads;
    for (int i = 0; i < 8; i++)
        threads.create_thread([&] {
            for (int turn = 0; turn < 10000; turn++) { boost::lock_guard<boost::mutex> guard(mutex); count++; }
            barrier.wait();
            { boost::lock_guard<boost::mutex> guard(mutex); passed++; }
            for (int turn = 0; turn < 500; turn++) {
                { boost::shared_lock<boost::shared_mutex> reader(shared); if (upgraded < 0) return; }
                boost::upgrade_lock<boost::shared_mutex> upgradable(shared);
                boost::upgrade_to_unique_lock<boost::shared_mutex> writer(upgradable);
                upgraded++;
            }
        });
    threads.join_all();
    boost::condition_variable never;
    const char *ended = "not interrupted";
    boost::thread waiter([&] {
        boost::unique_lock<boost::mutex> lock(mutex);
        try { for (;;) never.wait(lock); } catch (boost::thread_interrupted &) { ended = "interrupted"; }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    waiter.interrupt();
    waiter.join();
    boost::future<int> answer = boost::async(boost::launch::async, [] { return 42; });
    std::printf("%ld %ld %s %ld %d\n", count, passed, ended, upgraded, answer.get());
}
