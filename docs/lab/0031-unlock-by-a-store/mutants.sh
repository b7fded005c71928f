#!/bin/bash
# mutants.sh, at the root of a tree with both patches: which changes the explicit-state checks of the mutex and of the
# condition variable catch.
raw=crates/turnwise/src/mutex/raw.rs
platform=proof/model/src/explicit/platform.rs
kept=$(mktemp)

# try NAME FILE: the change is a Python expression of the text `s` on standard input.
try() {
    cp "$2" "$kept"
    change=$(cat) python3 - "$2" <<'P'
import os, sys
path = sys.argv[1]
s = open(path).read()
new = eval("(" + os.environ["change"] + ")")
assert new != s, "the change does not apply"
open(path, "w").write(new)
P
    out=$(cargo test -p turnwise-model --test explicit -- mutex condvar 2>&1)
    if grep -q "could not compile" <<<"$out"; then
        result="does not compile"
    elif grep -q "test result: ok" <<<"$out"; then
        result="survives"
    else
        result="caught by $(grep -oE '^ +"(mutex|condvar)[^"]*"' <<<"$out" | sort -u | wc -l) checks"
    fi
    echo "$1: $result"
    cp "$kept" "$2"
}

try "no barrier" $raw <<'C'
s.replace("        P::restart_others();\n", "")
C
try "barrier before the mode is written" $raw <<'C'
s.replace("        P::restart_others();\n", "")
    .replace("let _ = self.mode", "P::restart_others();\n        let _ = self.mode")
C
try "the mode says EXCHANGES before the barrier" $raw <<'C'
s.replace("compare_exchange(0, CHANGING", "compare_exchange(0, EXCHANGES")
C
try "a second waiter does not end releases itself" $raw <<'C'
s.replace("let _ = self.mode", "if self.mode").replace("CHANGING, Relaxed, Relaxed);",
    "CHANGING, Relaxed, Relaxed).is_err() { return; }")
C
try "the sequence does not look at the mode" $platform <<'C'
s.replace("mode.load(Relaxed) != 0 || ", "")
C
try "the sequence does not look at the word" $platform <<'C'
s.replace(" || word.load(Relaxed) != owner.get()", "")
C
try "the barrier does not end the sequence" $platform <<'C'
s.replace("clean(machine::commit(word, at))", "{ machine::in_sequence(false); clean(machine::commit(word, at)) }")
C
try "woken waiters leave it out" $raw <<'C'
s.replace("        self.expect_exchanges();\n", "        if !woken { self.expect_exchanges(); }\n")
C
