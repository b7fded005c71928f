/*
 * The sample program of `turnwise compare`: threads on one key-value cache.
 *
 * A hash table and a list in order of use, both under one mutex, as in many caches. Each operation draws a key (few
 * are popular), looks it up or stores it, and works a little on the value outside the lock. The sections are
 * short and all threads want the same mutex, so the kind of mutex decides the speed.
 *
 *     cache [-t THREADS] [-s SECONDS] [-k KEYS] [-r READ_SHARE] [-v VALUE_BYTES]
 *
 *     -t  threads (4)
 *     -s  how long to run, seconds (0.7)
 *     -k  different keys; the cache holds half of them (20000)
 *     -r  share of lookups among the operations, 0 to 1 (0.9)
 *     -v  bytes of a value (1024): copied inside the lock, worked on outside
 *
 * Prints `ops_per_second: N`. Exits with 1 if the cache is inconsistent in the end, i.e. if the mutex did not exclude.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_VALUE_BYTES = 65536, MAX_THREADS = 4096 };

struct entry {
    uint64_t key;
    struct entry *chain;         /* next in the same bucket */
    struct entry *newer, *older; /* order of use */
    unsigned char *value;
};

struct cache {
    pthread_mutex_t mutex;
    struct entry **buckets;
    uint64_t bucket_mask;
    struct entry *pool;
    uint64_t capacity, used;
    struct entry *newest, *oldest;
};

struct worker {
    _Alignas(128) pthread_t thread; /* no cache line has parts of two workers */
    uint64_t seed;
    uint64_t operations, hits, checksum;
};

static struct cache cache = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool stop;
static uint64_t keys = 20000;
static double read_share = 0.9;
static size_t value_bytes = 1024;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

static struct entry **bucket_of(uint64_t key)
{
    return &cache.buckets[mix(key) & cache.bucket_mask];
}

static struct entry *find(uint64_t key)
{
    struct entry *entry = *bucket_of(key);
    while (entry && entry->key != key)
        entry = entry->chain;
    return entry;
}

static void unlink_from_order(struct entry *entry)
{
    *(entry->newer ? &entry->newer->older : &cache.newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache.oldest) = entry->newer;
}

static void make_newest(struct entry *entry)
{
    entry->newer = NULL;
    entry->older = cache.newest;
    *(cache.newest ? &cache.newest->newer : &cache.oldest) = entry;
    cache.newest = entry;
}

static void unlink_from_bucket(struct entry *entry)
{
    struct entry **link = bucket_of(entry->key);
    while (*link != entry)
        link = &(*link)->chain;
    *link = entry->chain;
}

/* A free entry, or the one that was not used for the longest time. */
static struct entry *take_entry(void)
{
    if (cache.used < cache.capacity)
        return &cache.pool[cache.used++];
    struct entry *entry = cache.oldest;
    unlink_from_order(entry);
    unlink_from_bucket(entry);
    return entry;
}

static bool get(uint64_t key, unsigned char *value)
{
    pthread_mutex_lock(&cache.mutex);
    struct entry *entry = find(key);
    if (entry) {
        unlink_from_order(entry);
        make_newest(entry);
        memcpy(value, entry->value, value_bytes);
    }
    pthread_mutex_unlock(&cache.mutex);
    return entry != NULL;
}

static void put(uint64_t key, const unsigned char *value)
{
    pthread_mutex_lock(&cache.mutex);
    struct entry *entry = find(key);
    if (entry) {
        unlink_from_order(entry);
    } else {
        entry = take_entry();
        entry->key = key;
        entry->chain = *bucket_of(key);
        *bucket_of(key) = entry;
    }
    make_newest(entry);
    memcpy(entry->value, value, value_bytes);
    pthread_mutex_unlock(&cache.mutex);
}

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static double draw_fraction(uint64_t *seed)
{
    return (double)(draw(seed) >> 11) / 9007199254740992.0;
}

static void fill(unsigned char *value, uint64_t key)
{
    for (size_t i = 0; i < value_bytes; i++)
        value[i] = (unsigned char)(key >> i % 8 * 8) ^ (unsigned char)i;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    unsigned char value[MAX_VALUE_BYTES];
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        double popularity = draw_fraction(&self->seed);
        uint64_t key = (uint64_t)(popularity * popularity * (double)keys);
        if (draw_fraction(&self->seed) < read_share && get(key, value)) {
            self->hits++;
            for (size_t i = 0; i < value_bytes; i++)
                self->checksum = self->checksum * 31 + value[i];
        } else {
            fill(value, key);
            put(key, value);
        }
        self->operations++;
    }
    return NULL;
}

/* Whether every entry is once in the order of use, and in its bucket, with its own value. */
static bool consistent(void)
{
    uint64_t seen = 0;
    unsigned char expected[MAX_VALUE_BYTES];
    for (struct entry *entry = cache.newest; entry; entry = entry->older) {
        fill(expected, entry->key);
        if (++seen > cache.used || find(entry->key) != entry || memcmp(entry->value, expected, value_bytes) != 0)
            return false;
    }
    return seen == cache.used;
}

static void prepare(void)
{
    uint64_t buckets = 1;
    cache.capacity = keys / 2 ? keys / 2 : 1;
    while (buckets < cache.capacity)
        buckets *= 2;
    cache.bucket_mask = buckets - 1;
    cache.buckets = calloc(buckets, sizeof *cache.buckets);
    cache.pool = calloc(cache.capacity, sizeof *cache.pool);
    unsigned char *values = calloc(cache.capacity, value_bytes);
    if (!cache.buckets || !cache.pool || !values) {
        fputs("cache: out of memory; use fewer keys (-k) or smaller values (-v)\n", stderr);
        exit(2);
    }
    for (uint64_t i = 0; i < cache.capacity; i++)
        cache.pool[i].value = values + i * value_bytes;
}

static double number(const char *text, double low, double high, char option)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= low && value <= high)) {
        fprintf(stderr, "cache: -%c takes a number from %g to %g, not '%s'\n", option, low, high, text);
        exit(2);
    }
    return value;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void pause_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    while (nanosleep(&time, &time) != 0)
        ;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    int threads = 4;
    double seconds = 0.7;
    for (int option; (option = getopt(argc, argv, "t:s:k:r:v:")) != -1;) {
        switch (option) {
        case 't': threads = (int)number(optarg, 1, MAX_THREADS, 't'); break;
        case 's': seconds = number(optarg, 0.001, 86400, 's'); break;
        case 'k': keys = (uint64_t)number(optarg, 1, 1e9, 'k'); break;
        case 'r': read_share = number(optarg, 0, 1, 'r'); break;
        case 'v': value_bytes = (size_t)number(optarg, 1, MAX_VALUE_BYTES, 'v'); break;
        default:
            fputs("usage: cache [-t THREADS] [-s SECONDS] [-k KEYS] [-r READ_SHARE] [-v VALUE_BYTES]\n", stderr);
            return 2;
        }
    }
    prepare();
    double start = now();
    for (int i = 0; i < threads; i++) {
        workers[i].seed = mix((uint64_t)i + 1) | 1;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fprintf(stderr, "cache: thread %d cannot be started; use fewer (-t)\n", i + 1);
            return 2;
        }
    }
    pause_for(seconds);
    atomic_store(&stop, true);
    uint64_t operations = 0, hits = 0, checksum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        operations += workers[i].operations;
        hits += workers[i].hits;
        checksum ^= workers[i].checksum;
    }
    double elapsed = now() - start;
    printf("threads: %d\nkeys: %llu\nhit_share: %.3f\nchecksum: %016llx\n", threads, (unsigned long long)keys,
           operations ? (double)hits / (double)operations : 0.0, (unsigned long long)checksum);
    printf("ops_per_second: %.0f\n", (double)operations / elapsed);
    if (!consistent()) {
        fputs("cache: inconsistent: the mutex did not exclude\n", stderr);
        return 1;
    }
    return 0;
}
