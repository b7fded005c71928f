# Runs the tests of a crate with parking_lot's own locks and with ours:
# sh crate.sh NAME VERSION ARGUMENTS, of `cargo test`, FLAGS of the test programs
# Prints how many pass with both; or says what is wrong, and fails. Copies and logs lie in target/compatibility.
set -eu
name=$1 version=$2 arguments=$3 flags=$4
root=$PWD ours=$PWD/crates/parking-lot
mkdir -p target/compatibility/fetched/src
cd target/compatibility
# The environment is not that of the cargo that started us.
unset CARGO CARGO_MANIFEST_DIR CARGO_MANIFEST_PATH RUSTFLAGS
export CARGO_TARGET_DIR="$PWD/built"

fail() {
    echo "$*" >&2
    exit 1
}

# Copies a crate to where it can be built by itself: copy NAME VERSION FOLDER
copy() {
    : >fetched/src/lib.rs
    printf '[package]\nname = "fetched"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "=%s"\n' "$1" "$2" \
        >fetched/Cargo.toml
    from=$(cargo metadata --format-version=1 --manifest-path fetched/Cargo.toml | grep -o "[^\"]*/$1-$2/Cargo.toml" |
        head -n 1)
    [ "$from" ] || fail "cargo did not fetch $1"
    rm -rf "$3"
    cp -r "${from%/Cargo.toml}" "$3"
    rm -f "$3/Cargo.lock" # it may ask for an older parking_lot
    printf '\n[workspace]\n' >>"$3/Cargo.toml"
}

# Lists the tests that pass: passed FOLDER LOG, and flags of cargo
passed() (
    cd "$1"
    log=../$2
    shift 2
    # shellcheck disable=SC2086
    cargo "$@" test --no-fail-fast $arguments -- $flags >"$log" 2>&1 || true
    sed -n 's/^test \(.*\) \.\.\. ok$/\1/p' "$log" | sort -u | grep . ||
        fail "no test passes: $(tail -n 3 "$log"); see target/compatibility/${log#../}"
)

# Ours under parking_lot's name and version, with the tests of its files and what those need.
locks=$(sed -n '/^name = "parking_lot"$/{n;s/version = "\(.*\)"/\1/p;}' "$root/xtask/compatibility/crates.toml")
copy parking_lot "$locks" theirs
rm -rf on-turnwise
mkdir on-turnwise
cp -r "$ours/src" theirs/tests on-turnwise
for file in theirs/src/*.rs; do
    [ ! -e "on-turnwise/src/${file##*/}" ] || sed -n '/^#\[cfg(test)\]/,$p' "$file" >>"on-turnwise/src/${file##*/}"
done
grep -q '^#\[cfg(test)\]' on-turnwise/src/condvar.rs || fail "condvar.rs of parking_lot has no tests any more"
sed -e 's/^name = .*/name = "parking_lot"/' -e "s/^version\.workspace.*/version = \"$locks\"/" -e '/^\[lints\]/,$d' \
    -e 's/^edition\.workspace.*/edition = "2021"/' -e '/^rust-version\.workspace/d' -e '/^license\.workspace/d' \
    -e "s|^turnwise = .*|turnwise = { path = \"$root/crates/turnwise\" }|" "$ours/Cargo.toml" >on-turnwise/Cargo.toml
sed -n '/^\[dev-dependencies/,/^\[[^d]/{/^\[[^d]/!p;}' theirs/Cargo.toml >>on-turnwise/Cargo.toml
printf '\n[workspace]\n' >>on-turnwise/Cargo.toml

copy "$name" "$version" "$name"
passed "$name" "$name.log" >"$name.theirs"
cp "$name.theirs" "$name.missing"
if [ "$name" = parking_lot ]; then
    at=on-turnwise
    set --
else
    at=$name
    set -- --config "patch.crates-io.parking_lot.path=\"$PWD/on-turnwise\""
    (cd "$name" && cargo "$@" tree --quiet --all-features --invert turnwise >/dev/null 2>&1) ||
        fail "$name $version does not use this parking_lot: nothing to try"
fi
# Twice, if need be: some crates' tests read the clock, and fail by themselves.
for _ in 1 2; do
    passed "$at" "$name-on-turnwise.log" "$@" | comm -23 "$name.missing" - >"$name.still"
    mv "$name.still" "$name.missing"
    [ -s "$name.missing" ] || exec wc -l <"$name.theirs"
done
fail "pass on its own locks, and 2 times not on ours: $(paste -s -d , "$name.missing")"
