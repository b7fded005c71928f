//! Makes wrong copies of the portable platform's table of sleeping threads: its source, each with a few words changed.
//!
//! What the other locks' mutants change as they run is an ordering, a flag or a wake-up. These change what the code
//! does in between. A change whose words the source does not have, or has twice, ends the build.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const SOURCE: &str = "../../crates/turnwise/src/platform/native/portable/table.rs";

/// A wrong copy: its name, and what stands there instead of what.
struct Mutant(&'static str, &'static str, &'static str);

const MUTANTS: &[Mutant] = &[
    Mutant(
        "looks_before_it_has_the_bucket",
        "let queued = self.locked(address, |queue| {\n            let unchanged = word.load(Relaxed) == expected;",
        "let unchanged = word.load(Relaxed) == expected;\n        let queued = self.locked(address, |queue| {",
    ),
    Mutant("sleeps_without_a_look", "word.load(Relaxed) == expected", "true"),
    Mutant("sleeps_on_in_spite_of_its_deadline", "return Parked::TimedOut;", "deadline = None; continue;"),
    Mutant("gives_up_though_a_wake_up_has_its_record", "if !own.is_null() {", "if !own.is_null() || left == Some(0) {"),
    Mutant("leaves_its_record_when_it_gives_up", "queue.take(1, |other|", "queue.take(0, |other|"),
    Mutant("wakes_any_address", "sleeper.address == address && ", "sleeper.address != 0 && "),
    Mutant("wakes_any_lane", " && sleeper.lane == lane", ""),
    Mutant("stops_at_who_is_not_meant", "before = Some(sleeper);\n                continue;", "break;"),
    Mutant(
        "counts_who_is_not_meant",
        "before = Some(sleeper);\n",
        "before = Some(sleeper);\n                left -= 1;\n",
    ),
    Mutant("takes_all_out", "(count, None", "(u32::MAX, None"),
    Mutant("takes_one_out", "left -= 1;", "left = 0;"),
    Mutant("drops_who_stands_behind", "before.next.set(next)", "before.next.set(ptr::null())"),
    Mutant(
        "wakes_before_it_says_so",
        "sleeper.state.store(AWAKE, Release);\n            S::wake(state);",
        "S::wake(state);\n            sleeper.state.store(AWAKE, Release);",
    ),
    Mutant(
        "wakes_the_first_alone",
        "next = sleeper.next.get();\n            let state",
        "next = ptr::null();\n            let state",
    ),
    Mutant(
        "reads_the_record_after_it_said_so",
        "S::wake(state);",
        "next = sleeper.next.get();\n            S::wake(state);",
    ),
    Mutant("says_that_it_woke_nobody", "woken += 1;", "woken += 0;"),
];

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let source = fs::read_to_string(SOURCE).map_err(|e| format!("cannot read {SOURCE}: {e}"))?;
    // Inner comments may not stand in the middle of a file.
    let source: String =
        source.lines().filter(|line| !line.starts_with("//!")).map(|line| format!("{line}\n")).collect();
    let mut all = String::new();
    for Mutant(name, from, to) in MUTANTS {
        let found = source.matches(from).count();
        if found != 1 {
            return Err(format!("mutant {name}: {SOURCE} has this {found} times, and should once: {from}"));
        }
        let copy = source.replacen(from, to, 1);
        let _ = write!(all, "#[allow(warnings, clippy::all)]\nmod {name} {{\n{copy}\npub struct Copy;\n}}\n");
    }
    let names: Vec<_> = MUTANTS.iter().map(|Mutant(name, ..)| *name).collect();
    let _ = writeln!(all, "mutants! {{ {} }}", names.join(", "));
    let out = env::var("OUT_DIR").map_err(|e| format!("OUT_DIR: {e}"))?;
    fs::write(Path::new(&out).join("table_mutants.rs"), all).map_err(|e| format!("cannot write to {out}: {e}"))
}
