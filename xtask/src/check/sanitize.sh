#!/bin/sh
# Runs programs in C and C++ on our libraries under AddressSanitizer and UndefinedBehaviorSanitizer: sanitize.sh BUILT.
# They see the programs and what the libraries do to their memory by the C library's functions, but not the inside of
# the libraries, which Miri and ThreadSanitizer check.
set -eu
built=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# As it is installed: programs look for it by the name of its interface.
for name in libturnwise.so libturnwise.so.0; do ln -s "$built/libturnwise_c.so" "$folder/$name"; done
failed=0

# try SOURCE COMPILER'S ARGUMENTS…; in `around` the words before the program
try() {
    source=$1
    shift
    compiler='gcc -std=gnu11'
    case $source in *.cpp) compiler='g++ -std=c++20' ;; esac
    $compiler -fsanitize=address,undefined -fno-sanitize-recover=all -g -O1 -pthread -I crates/capi/include "$source" \
        -o "$folder/program" "$@" -ldl
    if ! timeout -k 5 300 env LD_LIBRARY_PATH="$folder" $around "$folder/program" >/dev/null 2>"$folder/said" ||
        grep -E 'runtime error|AddressSanitizer' "$folder/said"; then
        echo "failed: $source"
        cat "$folder/said"
        failed=$((failed + 1))
    fi
}

around=
for source in tests/c/locks.c tests/c/waits.c tests/c/standard.cpp examples/queue.c examples/cache.cpp; do
    try "crates/capi/$source" -L "$folder" -lturnwise
done
# What is preloaded comes before the sanitizer, which allows that. Threads that are cancelled leave memory.
around="ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD=$built/libturnwise_preload.so"
# Not here: `keys.c`, which uses a key that never existed; `cancel.c`, whose unwinding AddressSanitizer does not follow;
# and `fork.c`, whose children start threads: 2 of 100 hang in the sanitizer, which does not support that, with our
# library and without it.
for name in c11 cancel_one cond destroy destroy_waited exclusion exit foreign fork_requested fork_tries many rwlock \
    rwlock_stress signals threads timed; do
    try "crates/preload/tests/c/$name.c"
done
echo "sanitize: $failed failed"
[ "$failed" = 0 ]
