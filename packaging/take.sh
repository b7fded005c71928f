#!/bin/sh
# Has a program take the libraries from the packages in a folder: take.sh FOLDER
set -eu
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$made/program/src" "$made/packages"
for crate in "$1"/*.crate; do tar -xzf "$crate" -C "$made/packages"; done
cat >"$made/program/Cargo.toml" <<END
[package]
name = "program"
edition = "2024"
[workspace]
[dependencies]
turnwise = { version = "0.1", features = ["lock_api"] }
turnwise-live = { version = "0.1", default-features = false, features = ["own"] }
[patch.crates-io]
END
for folder in "$made"/packages/*; do
    echo "$(basename "$folder" | sed 's/-[0-9.]*$//') = { path = \"$folder\" }" >>"$made/program/Cargo.toml"
done
cat >"$made/program/src/main.rs" <<END
static HITS: turnwise::Mutex<u32> = turnwise::Mutex::new(0);
fn main() {
    turnwise_live::own::start().unwrap();
    *HITS.lock() += 1;
    assert_eq!(*HITS.lock(), 1);
}
END
cargo run --quiet --manifest-path "$made/program/Cargo.toml" --target-dir target/supply/take
