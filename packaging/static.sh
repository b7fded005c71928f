#!/bin/sh
# Packs the static program that portable.sh built, and uses it: static.sh TARGET
set -eu
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=turnwise-$version-${1%%-*}-linux-static
to=target/dist/static/$name
rm -rf target/dist/static
mkdir -p "$to"
cp "target/dist/build/$1/dist/turnwise" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$to"
cargo xtask notices turnwise-cli >"$to/THIRD-PARTY"
mkdir "$to/lib"
"$to/turnwise" library --to "$to/lib"
[ "$("$to/turnwise" library)" = "$(realpath "$to")/lib/libturnwise_preload.so.0" ] ||
    { echo "the program does not take the library beside it"; exit 1; }
if objdump -p "$to/turnwise" | grep NEEDED; then
    echo "the static program needs libraries"
    exit 1
fi
VERSION=$version sh packaging/use.sh "$to/turnwise"
tar --owner=0 --group=0 --sort=name -C target/dist/static -czf "target/dist/$name.tar.gz" "$name"
