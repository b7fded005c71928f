#!/bin/sh
# Installs the tool, and builds a program on the libraries, from the packages in a folder and the third-party ones that
# Cargo.lock names, without a network: packages.sh FOLDER
set -eu
clean=$PWD/target/supply/clean
export CARGO_TARGET_DIR="$clean/target"
# Cargo keeps what it has installed in this version, and cannot see changes of packages: their files are all of 2006.
rm -rf "$clean"
mkdir -p "$clean/home" "$clean/program/src"
cargo vendor --quiet --locked --versioned-dirs "$clean/all" >"$clean/vendor.toml"
for crate in "$1"/*.crate; do
    tar -xzf "$crate" -C "$clean/all"
    sum=$(sha256sum "$crate" | cut -d ' ' -f 1)
    echo "{\"files\":{},\"package\":\"$sum\"}" >"$clean/all/$(basename "$crate" .crate)/.cargo-checksum.json"
done
# Cargo's home, whose settings hold for the build within the tool's, too: there is no other registry.
export CARGO_HOME="$clean/home"
cat >"$CARGO_HOME/config.toml" <<END
[source.crates-io]
replace-with = "all"
[source.all]
directory = "$clean/all"
[net]
offline = true
END
cd "$clean"
# Optimised code is tested elsewhere; the libraries that it carries are always optimised.
cargo install --quiet --debug --locked turnwise-cli --root installed

cat >program/Cargo.toml <<END
[package]
name = "program"
edition = "2024"
[workspace]
[dependencies]
turnwise = { version = "0.1", features = ["lock_api"] }
turnwise-live = { version = "0.1", default-features = false, features = ["own"] }
END
cat >program/src/main.rs <<END
static HITS: turnwise::Mutex<u32> = turnwise::Mutex::new(0);
fn main() {
    turnwise_live::own::start().unwrap();
    *HITS.lock() += 1;
    assert_eq!(*HITS.lock(), 1);
}
END
cargo run --quiet --manifest-path program/Cargo.toml
