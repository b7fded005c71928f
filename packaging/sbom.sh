#!/bin/sh
# Checks that the lists of parts (CycloneDX) in a folder name all packages that cargo builds: sbom.sh FOLDER
set -eu
for part in cli preload recorder capi; do
    cargo tree --locked -p "turnwise-$part" -e normal,no-proc-macro --target x86_64-unknown-linux-gnu --prefix none \
        >"$1/tree"
    while read -r name version rest; do
        [ -z "$name" ] || grep -qF "pkg:cargo/$name@${version#v}" "$1/turnwise-$part.cdx.json" || {
            echo "the list of $part lacks $name $version"
            exit 1
        }
    done <"$1/tree"
done
