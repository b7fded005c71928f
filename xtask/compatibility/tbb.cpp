// Mutexes, queues, reductions, flow graphs and hash maps of oneTBB.
#include <atomic>
#include <cstdio>
#include <oneapi/tbb.h>
#include <set>

int main()
{
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
    tbb::spin_mutex spin;
    tbb::queuing_mutex queued;
    tbb::queuing_rw_mutex shared;
    long count = 0;
    tbb::parallel_for(0, 100000, [&](int i) {
        tbb::spin_mutex::scoped_lock one(spin);
        tbb::queuing_mutex::scoped_lock other(queued);
        tbb::queuing_rw_mutex::scoped_lock third(shared, true);
        count++;
    });
    tbb::concurrent_bounded_queue<int> queue;
    queue.set_capacity(4);
    std::atomic<int> taken{0};
    tbb::task_group group;
    std::thread producer([&] { for (int i = 0; i < 1000; i++) queue.push(i); });
    for (int i = 0; i < 1000; i++) { int item; queue.pop(item); taken++; }
    producer.join();
    long sum = tbb::parallel_reduce(tbb::blocked_range<long>(1, 100001), 0L,
        [](auto range, long so_far) {
            for (long i = range.begin(); i != range.end(); i++) so_far += i % 10000;
            return so_far;
        },
        std::plus<long>());
    tbb::concurrent_hash_map<int, int> map;
    tbb::parallel_for(0, 20000, [&](int i) {
        tbb::concurrent_hash_map<int, int>::accessor place;
        map.insert(place, i % 1000);
        place->second++;
    });
    std::printf("%ld %d %ld %zu\n", count, taken.load(), sum, map.size());
}
