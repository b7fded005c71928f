//! Makes wrong copies of the portable platform's table of sleeping threads: its source, each with a few words changed.
//!
//! What the other locks' mutants change as they run is an ordering, a flag or a wake-up. These change what the code
//! does in between. A change whose words the source does not have, or has twice, ends the build.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const SOURCE: &str = "../../crates/turnwise/src/platform/native/portable/table.rs";
/// The copies: name, and what stands there instead of what.
const MUTANTS: &str = "src/parking/mutants.toml";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed={SOURCE}\ncargo::rerun-if-changed={MUTANTS}");
    let read = |file| fs::read_to_string(file).map_err(|e| format!("cannot read {file}: {e}"));
    // Inner comments may not stand in the middle of a file.
    let source: String =
        read(SOURCE)?.lines().filter(|line| !line.starts_with("//!")).map(|line| format!("{line}\n")).collect();
    let mutants: toml::Table = read(MUTANTS)?.parse().map_err(|e| format!("{MUTANTS}: {e}"))?;
    let (mut all, mut names) = (String::new(), Vec::new());
    for (name, change) in &mutants {
        let [from, to] = [0, 1].map(|side| change[side].as_str().unwrap_or_default());
        let found = source.matches(from).count();
        if found != 1 {
            return Err(format!("mutant {name}: {SOURCE} has this {found} times, and should once: {from}"));
        }
        let copy = source.replacen(from, to, 1);
        let _ = write!(all, "#[allow(warnings, clippy::all)]\nmod {name} {{\n{copy}\npub struct Copy;\n}}\n");
        names.push(name.as_str());
    }
    let _ = writeln!(all, "mutants! {{ {} }}", names.join(", "));
    let out = env::var("OUT_DIR").map_err(|e| format!("OUT_DIR: {e}"))?;
    fs::write(Path::new(&out).join("table_mutants.rs"), all).map_err(|e| format!("cannot write to {out}: {e}"))
}
