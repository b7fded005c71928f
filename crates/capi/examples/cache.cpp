// A cache that many threads read and few fill, and its limits: read at every look-up, changed now and then.
//
//     c++ -std=c++17 -pthread cache.cpp $(pkg-config --cflags --libs turnwise)
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <turnwise.hpp>
#include <vector>

struct limits {
    std::size_t entries;
    std::size_t key_length;
};

class cache {
public:
    explicit cache(limits l) : limits_(l) {}

    std::optional<std::string> find(const std::string &key) const
    {
        if (key.size() > limits_.load().key_length)
            return std::nullopt;
        std::shared_lock lock(mutex_);
        const auto found = entries_.find(key);
        return found == entries_.end() ? std::nullopt : std::optional(found->second);
    }

    bool insert(const std::string &key, std::string value)
    {
        const limits now = limits_.load();
        std::unique_lock lock(mutex_);
        if (key.size() > now.key_length || entries_.size() >= now.entries)
            return false;
        return entries_.emplace(key, std::move(value)).second;
    }

    void set_limits(limits l) { limits_.store(l); }

private:
    mutable turnwise::shared_mutex mutex_;
    std::map<std::string, std::string> entries_;
    turnwise::seq_value<limits> limits_;
};

int main()
{
    cache words(limits{1000, 16});
    std::vector<std::thread> threads;
    std::vector<long> hits(4);
    for (std::size_t id = 0; id < hits.size(); id++)
        threads.emplace_back([&words, &hits, id] {
            for (int i = 0; i < 20000; i++) {
                const std::string key = "key" + std::to_string(i % 500);
                if (words.find(key))
                    hits[id]++;
                else
                    words.insert(key, "value of " + key);
            }
        });
    words.set_limits(limits{2000, 32});
    for (auto &thread : threads)
        thread.join();
    long sum = 0;
    for (const long h : hits)
        sum += h;
    std::cout << "Turnwise " << turnwise::version() << ": " << sum << " hits\n";
    return sum > 0 && words.find("key499") == "value of key499" ? 0 : 1;
}
