#!/bin/sh
# Builds the tool and the C library in two folders, whose paths differ in length, too: every byte must be the same. (The
# preload library and the recorder are in the tool.)
set -eu
to=$PWD/target/supply
home=${CARGO_HOME:-$HOME/.cargo}
# Both before the first is built, which takes long: the tree may be changed meanwhile.
for tree in "$to/one" "$to/another/of/them"; do bash packaging/copy.sh "$tree"; done
for tree in "$to/one" "$to/another/of/them"; do
    # As a distribution builds: without paths of a particular machine. Without symbols, like the shipped files: names of
    # local ones end in a number of their module, which differed between the folders.
    (cd "$tree" && CARGO_INCREMENTAL=0 CFLAGS="-ffile-prefix-map=$tree=/turnwise" \
        RUSTFLAGS="--remap-path-prefix=$tree=/turnwise --remap-path-prefix=$home=/cargo -Cstrip=symbols" \
        cargo build --quiet --locked --profile dist -p turnwise-cli -p turnwise-capi)
done
for made in turnwise libturnwise_c.so libturnwise_c.a; do
    cmp "$to/one/target/dist/$made" "$to/another/of/them/target/dist/$made"
    (cd "$to/one/target/dist" && sha256sum "$made")
done
