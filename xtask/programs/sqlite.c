/* Threads look rows up in a small table: through one connection (whose mutex they share), or through a connection
 * each on one shared cache. Usage: sqlite one|shared THREADS QUERIES */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 1000 };
static const char *const URI = "file:turnwise?mode=memory&cache=shared";

static sqlite3 *one;
static long queries;

static void check(int code, sqlite3 *db) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
        fprintf(stderr, "sqlite: %s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
        exit(1);
    }
}

static sqlite3 *open_database(void) {
    sqlite3 *db;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
    check(sqlite3_open_v2(URI, &db, flags, NULL), NULL);
    check(sqlite3_exec(db, "PRAGMA read_uncommitted=1", NULL, NULL, NULL), db);
    return db;
}

static void fill(sqlite3 *db) {
    check(sqlite3_exec(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER); BEGIN", NULL, NULL, NULL), db);
    for (int row = 0; row < ROWS; row++) {
        char sql[80];
        snprintf(sql, sizeof sql, "INSERT INTO t VALUES(%d, %d)", row, row * 3);
        check(sqlite3_exec(db, sql, NULL, NULL, NULL), db);
    }
    check(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), db);
}

static void *look_up(void *argument) {
    sqlite3 *db = one ? one : open_database();
    unsigned long seed = (unsigned long)(size_t)argument * 2654435761UL + 1;
    long found = 0;
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(db, "SELECT v FROM t WHERE id = ?", -1, &statement, NULL), db);
    for (long i = 0; i < queries; i++) {
        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
        int row = (int)((seed >> 33) % ROWS);
        check(sqlite3_bind_int(statement, 1, row), db);
        if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == row * 3)
            found++;
        check(sqlite3_reset(statement), db);
    }
    sqlite3_finalize(statement);
    if (!one)
        sqlite3_close(db);
    return (void *)found;
}

int main(int argc, char **argv) {
    if (argc != 4 || (strcmp(argv[1], "one") && strcmp(argv[1], "shared"))) {
        fprintf(stderr, "usage: sqlite one|shared THREADS QUERIES\n");
        return 2;
    }
    enum { MOST = 64 };
    int threads = atoi(argv[2]);
    queries = atol(argv[3]);
    if (threads < 1 || threads > MOST || queries < 1) {
        fprintf(stderr, "sqlite: 1 to %d threads, 1 query or more\n", MOST);
        return 2;
    }
    sqlite3 *db = open_database();
    fill(db);
    one = strcmp(argv[1], "one") ? NULL : db;
    pthread_t thread[MOST];
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, look_up, (void *)(size_t)i))
            return 1;
    long found = 0;
    for (int i = 0; i < threads; i++) {
        void *part;
        pthread_join(thread[i], &part);
        found += (long)part;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("rows %ld\n%.0f queries/s\n", found, (double)(queries * threads) / seconds);
    /* On one connection one statement at a time is stepped by whoever has the connection, so all rows are found. */
    return found == queries * threads ? 0 : 1;
}
