#!/bin/sh
# Cargo's runner for the examples in documentation alone: a test's program, which lies in `deps`, is passed over. Where
# examples were merged into one program, it starts itself again for each, if it is told where it is; under a runner
# rustdoc does not say.
case "$1" in
*/deps/*) ;;
*) RUSTDOC_DOCTEST_BIN_PATH=$1 exec "$@" ;;
esac
