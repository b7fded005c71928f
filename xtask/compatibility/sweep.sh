#!/usr/bin/env bash
# Starts every dynamic program in a folder as `PROGRAM --version` and `PROGRAM --help`, twice alone and once with the
# preload library, and compares exit status and the lines of its outputs: sweep.sh TURNWISE [FOLDER]. A program is in
# namespaces of its own, without input, terminal or network, with a home and a /tmp that are new each time, and for at
# most 10 seconds. What differs between the two runs alone is compared without numbers; if it still differs, the program
# is not judged.
set -euo pipefail
turnwise=$1
export folder=${2:-/usr/bin}
library=$("$turnwise" library)
place=$(mktemp -d -p /dev/shm)
export library place
trap 'rm -rf "$place"' EXIT

# Runs a program, with a variable or none: alone|again|ours PROGRAM ARGUMENT [VARIABLE]
ran() {
    local out=$work/$1 program=$2 argument=$3
    shift 3
    rm -rf "$work/home" && mkdir "$work/home" && cd "$work/home"
    local status=0
    # In a shell of its own, which says nothing of programs that are killed.
    (timeout -k 1 10 unshare --user --map-root-user --pid --fork --kill-child --mount-proc --net --ipc \
        sh -c 'mount -t tmpfs none /tmp && exec "$@"' sh \
        env -i PATH=/usr/bin:/bin LC_ALL=C TZ=UTC TERM=dumb HOME="$work/home" TMPDIR="$work/home" "$@" \
        "$program" "$argument" </dev/null >"$out.out" 2>"$out.err") 2>/dev/null || status=$?
    # Sorted: the programs of a pipeline write in any order.
    { echo "status $status"; cat "$out.out" "$out.err"; } | LC_ALL=C sort >"$out"
}
numberless() { sed -E 's/0x[0-9a-f]+|[0-9]+/N/g' "$1" | LC_ALL=C sort; }

# Judges one program: prints `same`, `unsteady` or `DIFFERS`, and its name.
judged() {
    local program=$1 verdict=same
    work=$place/$(basename "$program")
    mkdir "$work"
    for argument in --version --help; do
        ran alone "$program" "$argument"
        ran again "$program" "$argument"
        ran ours "$program" "$argument" "LD_PRELOAD=$library"
        if cmp -s "$work/alone" "$work/ours"; then continue; fi
        if cmp -s "$work/alone" "$work/again"; then
            verdict=DIFFERS
        elif [ "$(numberless "$work/alone")" = "$(numberless "$work/ours")" ]; then
            continue
        elif [ "$(numberless "$work/alone")" = "$(numberless "$work/again")" ]; then
            verdict=DIFFERS
        else
            verdict=unsteady
        fi
        echo "$verdict $program $argument"
        [ "$verdict" = unsteady ] || diff "$work/alone" "$work/ours" | head -n 6 | sed 's/^/    /'
        return
    done
    echo "same $program"
    rm -rf "$work"
}
export -f ran numberless judged

mkdir "$place/self"
work=$place/self ran self /bin/cat /proc/self/maps "LD_PRELOAD=$library" || true
grep -q "^status 0" "$place/self/self" || { echo "no namespaces here: $(tail -n 1 "$place/self/self.err")"; exit 77; }
grep -q "$library" "$place/self/self" || { echo "the loader does not load $library"; exit 1; }

# Those with a loader; without rights of their own, under which the loader ignores the variable.
for program in "$folder"/*; do
    [ -f "$program" ] && [ -x "$program" ] && [ ! -u "$program" ] && [ ! -g "$program" ] || continue
    head -c 4096 "$program" | LC_ALL=C grep -aqm1 'ld-linux' && printf '%s\0' "$program"
done | xargs -0 -P "$(nproc)" -I{} bash -c 'exec 2>/dev/null; judged "$1"' bash {} >"$place/verdicts"
grep -v '^same ' "$place/verdicts" || true
count() { grep -c "^$1 " "$place/verdicts" || true; }
echo "$(count '[a-zA-Z][a-zA-Z]*') programs of $folder: $(count same) alike," \
    "$(count unsteady) that differ from run to run, $(count DIFFERS) different with the library"
[ "$(count DIFFERS)" = 0 ]
