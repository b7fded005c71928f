// Abseil's mutex with its conditions, notifications, barriers and counters.
#include <absl/synchronization/barrier.h>
#include <absl/synchronization/blocking_counter.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <absl/time/clock.h>
#include <cstdio>
#include <thread>
#include <vector>

int main()
{
    absl::Mutex mutex;
    absl::BlockingCounter done(8);
    absl::Notification begin;
    long count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] {
            begin.WaitForNotification();
            for (int turn = 0; turn < 10000; turn++) { absl::MutexLock lock(&mutex); count++; }
            done.DecrementCount();
        });
    begin.Notify();
    { absl::MutexLock lock(&mutex); mutex.Await(absl::Condition(+[](long *all) { return *all == 80000; }, &count)); }
    done.Wait();
    for (auto &thread : threads) thread.join();
    auto *barrier = new absl::Barrier(4);
    int last = 0, through = 0;
    std::vector<std::thread> meeting;
    for (int i = 0; i < 4; i++)
        meeting.emplace_back([&] {
            bool is_last = barrier->Block();
            absl::MutexLock lock(&mutex);
            last += is_last;
            through++;
        });
    for (auto &thread : meeting) thread.join();
    if (last) delete barrier;
    absl::Notification never;
    bool came = never.WaitForNotificationWithTimeout(absl::Milliseconds(20));
    std::printf("%ld %d %d %s\n", count, last, through, came ? "came" : "late");
}
