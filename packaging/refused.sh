#!/bin/sh
# Checks that what is loaded into programs says by one error which targets it knows: it compiles for x86-64 and arm64
# with glibc alone.
set -eu
target=i686-unknown-linux-gnu
for part in preload recorder live capi; do
    if printed=$(cargo check --locked --keep-going --target $target -p turnwise-$part 2>&1); then
        echo "turnwise-$part compiles for $target: say so, and run its tests there"
        exit 1
    fi
    # Without cargo's own summary of them.
    errors=$(echo "$printed" | grep ^error | grep -v 'could not compile' || true)
    case $(echo "$errors" | wc -l):$errors in
    "1:error: live views and what is loaded into programs"*) ;;
    *)
        echo "turnwise-$part says more, or other things, than the one error for $target:"
        echo "$errors"
        exit 1
        ;;
    esac
done
echo "What is loaded into programs says by one error that $target is none of its targets"
