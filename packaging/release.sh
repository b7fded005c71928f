#!/bin/sh
# Collects what `cargo xtask dist` and `cargo xtask supply sbom` have made, with its SHA-256 sums: release.sh FOLDER
# Fails if one is missing, or has another version than Cargo.toml: a step that was skipped makes no release.
set -eu
to=$1
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
rm -rf "$to"
mkdir -p "$to"
for file in "debian/turnwise_$version-1_amd64.deb" "debian/libturnwise-preload0_$version-1_amd64.deb" \
    "debian/libturnwise0_$version-1_amd64.deb" "debian/libturnwise-dev_$version-1_amd64.deb" \
    "debian-arm64/turnwise_$version-1_arm64.deb" "debian-arm64/libturnwise-preload0_$version-1_arm64.deb" \
    "debian-arm64/libturnwise0_$version-1_arm64.deb" "debian-arm64/libturnwise-dev_$version-1_arm64.deb" \
    "rpm/turnwise-$version-1.x86_64.rpm" "rpm/libturnwise-preload0-$version-1.x86_64.rpm" \
    "rpm/libturnwise0-$version-1.x86_64.rpm" "rpm/libturnwise-devel-$version-1.x86_64.rpm" \
    "wheel/turnwise-$version-py3-none-manylinux_2_28_x86_64.whl" "turnwise-$version-x86_64-linux-static.tar.gz"; do
    cp "target/dist/$file" "$to"
done
for part in cli preload recorder capi; do
    cp "target/supply/turnwise-$part.cdx.json" "$to"
done
(cd "$to" && sha256sum -- * >SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
ls -l "$to"
