#!/bin/sh
# Makes the wheel of a tool that was built for old C libraries, and tries it in a fresh environment: make.sh BUILT
set -eu
built=$1 to=target/dist/wheel
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
platform=manylinux_2_28_$(uname -m)
rm -rf "$to" "$to-source"
mkdir -p "$to-source"
cp "$built/turnwise" LICENSE-MIT LICENSE-APACHE "$to-source"
"$built/turnwise" library --to "$to-source"
cargo xtask notices turnwise-cli >"$to-source/THIRD-PARTY"
for file in README.md pyproject.toml tag.py; do
    sed "s/@VERSION@/$version/; s/@PLATFORM@/$platform/" "packaging/wheel/$file" >"$to-source/$file"
done
target/dist/python/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$to" "./$to-source"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python3 -m venv "$fresh"
"$fresh/bin/pip" install --quiet --no-index --disable-pip-version-check "$to/turnwise-$version-py3-none-$platform.whl"
VERSION=$version sh packaging/use.sh "$fresh/bin/turnwise"
[ "$("$fresh/bin/turnwise" library)" = "$fresh/lib/libturnwise_preload.so.0" ] ||
    { echo "the tool does not take the library of its wheel"; exit 1; }
# Threads that share a mutex in Python itself: its own lock of the interpreter.
"$fresh/bin/turnwise" run -- "$fresh/bin/python3" -c "
import threading
assert 'libturnwise_preload' in open('/proc/self/maps').read(), 'not on our locks'
count = []
threads = [threading.Thread(target=lambda: [count.append(0) for _ in range(10000)]) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(count) == 40000, len(count)"
"$fresh/bin/pip" uninstall --quiet --yes turnwise
[ ! -e "$fresh/bin/turnwise" ]
