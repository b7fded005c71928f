// Threads read keys of one LevelDB, or read and write them. Usage: leveldb DIRECTORY read|mixed THREADS OPERATIONS
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr long kKeys = 20000;

std::string key(long number) {
    char text[32];
    std::snprintf(text, sizeof text, "key%09ld", number);
    return text;
}

void require(const leveldb::Status &status) {
    if (!status.ok()) {
        std::fprintf(stderr, "leveldb: %s\n", status.ToString().c_str());
        std::exit(1);
    }
}

// Every fifth operation of a mixed run writes a value of the same length: what is found does not depend on the order.
long work(leveldb::DB *db, bool mixed, long operations, unsigned long seed) {
    long found = 0;
    std::string value;
    for (long i = 0; i < operations; i++) {
        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
        const std::string name = key(static_cast<long>((seed >> 33) % kKeys));
        if (mixed && i % 5 == 0)
            require(db->Put(leveldb::WriteOptions(), name, std::string(100, 'w')));
        else if (db->Get(leveldb::ReadOptions(), name, &value).ok() && value.size() == 100)
            found++;
    }
    return found;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: leveldb DIRECTORY read|mixed THREADS OPERATIONS\n");
        return 2;
    }
    const bool mixed = std::string(argv[2]) == "mixed";
    const int threads = std::atoi(argv[3]);
    const long operations = std::atol(argv[4]);
    leveldb::Options options;
    options.create_if_missing = true;
    leveldb::DB *opened = nullptr;
    require(leveldb::DB::Open(options, argv[1], &opened));
    const std::unique_ptr<leveldb::DB> db(opened);
    for (long number = 0; number < kKeys; number++)
        require(db->Put(leveldb::WriteOptions(), key(number), std::string(100, 'v')));
    std::atomic<long> found{0};
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> crew;
    for (int i = 0; i < threads; i++)
        crew.emplace_back([&, i] { found += work(db.get(), mixed, operations, static_cast<unsigned long>(i) + 1); });
    for (auto &thread : crew)
        thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double all = static_cast<double>(operations * threads);
    std::printf("found %ld\n%.0f operations/s\n", found.load(), all / took.count());
    return 0;
}
