/* Locks that have C++ names; prints for each by which lock the preload library runs it. */
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>

static const char *const names[] = {"none", "adaptive", "queued", "ttas", "ticket", "libc"};

static void tell(const char *what, const void *lock, int offset)
{
    std::printf("%s %s\n", what, names[static_cast<const unsigned char *>(lock)[offset]]);
}

namespace store {
struct Cache {
    static std::mutex lock_;
    std::mutex own;
    std::shared_mutex table;
    __attribute__((noinline)) int get(int key)
    {
        std::lock_guard<std::mutex> guard(own);
        return key;
    }
    __attribute__((noinline)) int find(int key)
    {
        std::shared_lock<std::shared_mutex> guard(table);
        return key;
    }
};
std::mutex Cache::lock_;
} // namespace store

int main()
{
    auto cache = std::make_unique<store::Cache>();
    std::lock_guard<std::mutex> guard(store::Cache::lock_);
    tell("static", &store::Cache::lock_, 24);
    if (cache->get(1) + cache->find(2) != 3)
        return 1;
    tell("own", &cache->own, 24);
    tell("table", &cache->table, 40);
    return 0;
}
