//! `cargo xtask asm`: the generic lock's machine code, next to the same instructions written by hand.

use crate::command::{Run, cmd, need};
use crate::root::{cargo, target};
use anyhow::{Result, ensure};

/// Pairs of functions in `crates/turnwise/examples/fastpath.rs`: generic, by hand.
const PAIRS: &[(&str, &str)] =
    &[("generic_lock", "hand_lock"), ("generic_unlock", "hand_unlock"), ("generic_add", "hand_add")];
/// Columns of the left side.
const WIDTH: usize = 58;

#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints the pairs side by side; returns `true` if the fast paths have equally many locked instructions.
pub(crate) fn run(_: &Args) -> Result<bool> {
    let built = cargo("build --quiet --profile dist -p turnwise --example fastpath").succeeds()?;
    ensure!(built, "the example fastpath does not build");
    let mut same = true;
    for (generic, hand) in PAIRS {
        let (left, right) = (disassemble(generic)?, disassemble(hand)?);
        print_pair(generic, hand, &left, &right);
        same &= locked(&left) == locked(&right);
    }
    println!(
        "{}",
        if same { "Both sides have the same number of locked instructions." } else { "The sides differ: see above." }
    );
    Ok(same)
}

fn disassemble(function: &str) -> Result<Vec<String>> {
    need("objdump", "binutils")?;
    let program = target().join("dist/examples/fastpath");
    let mut objdump = cmd(&format!("objdump --no-show-raw-insn --no-addresses -M intel --disassemble={function}"));
    let text = objdump.arg(&program).text()?;
    let lines: Vec<String> = text.lines().filter_map(|line| line.strip_prefix('\t')).map(tidy_line).collect();
    ensure!(!lines.is_empty(), "{} has no function {function}", program.display());
    Ok(lines)
}

/// Formats one instruction, with a symbol's name without its module and hash.
fn tidy_line(line: &str) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((code, symbol)) = line.split_once('<') else { return line };
    let name = symbol.trim_end_matches('>');
    let slow = ["lock_slow", "wake_owed"].iter().rev().find(|slow| name.contains(*slow));
    format!("{code}<{}>", slow.copied().unwrap_or(name))
}

fn locked(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("lock ") || line.starts_with("xchg")).count()
}

fn print_pair(generic: &str, hand: &str, left: &[String], right: &[String]) {
    println!("{generic:WIDTH$} {hand}");
    for row in 0..left.len().max(right.len()) {
        let side = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
        println!("    {:w$} {}", side(left), side(right), w = WIDTH - 4);
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_instructions_are_those_that_the_bus_sees() {
        let lines = ["mov eax,ecx", "lock cmpxchg DWORD PTR [rdi],ecx", "xchg DWORD PTR [rdi],eax", "jne <unlocked>"];
        assert_eq!(locked(&lines.map(str::to_owned)), 2);
    }

    #[test]
    fn a_symbol_loses_its_module_and_hash() {
        let slow = "call   1234 <_RNvMs_NtCs1_8turnwise5mutex9wake_owed>";
        assert_eq!(tidy_line(slow), "call 1234 <wake_owed>");
        assert_eq!(tidy_line("jne    <hand_add+0x2e>"), "jne <hand_add+0x2e>");
    }
}
