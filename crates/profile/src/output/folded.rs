//! Folded stacks: a line for each stack, outermost frame first, and the microseconds that it waited; and the flame
//! graph of them.

use super::stacks;
use crate::model::{Frame, Profile};
use crate::text::lines::plain;
use anyhow::{Context, Result};
use inferno::flamegraph::{self, Options};
use std::collections::BTreeMap;
use std::io::Write;

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    for line in lines(profile) {
        writeln!(to, "{line}")?;
    }
    Ok(())
}

/// Returns the lines, sorted. The innermost frame of each is the lock, in brackets.
fn lines(profile: &Profile) -> Vec<String> {
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for wait in stacks::waits(profile) {
        let lock = &profile.locks[profile.sites[wait.site as usize].lock as usize];
        let frames = wait.frames.iter().rev().map(|&frame| name(&profile.frames[frame as usize]));
        let lock = format!("[{}]", escaped(&lock.name));
        let line: Vec<String> = frames.chain([lock]).collect();
        *times.entry(line.join(";")).or_default() += wait.wait_ns;
    }
    let micros = times.into_iter().map(|(line, ns)| (line, ns.div_ceil(1000)));
    micros.filter(|&(_, us)| us > 0).map(|(line, us)| format!("{line} {us}")).collect()
}

fn name(frame: &Frame) -> String {
    let name = escaped(&frame.function);
    // This is how flame graph tools mark inlined frames.
    if frame.inlined { format!("{name}_[i]") } else { name }
}

/// Returns a name that cannot end its frame or its line. Rust's `[u8; 4]` has a semicolon.
fn escaped(name: &str) -> String {
    if name.is_empty() {
        return "?".to_owned();
    }
    plain(name).replace(';', ":")
}

/// Writes a flame graph of them.
pub(super) fn flame(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    let mut lines = lines(profile);
    if lines.is_empty() {
        // An empty graph is refused; a page that states so is more useful than a failure.
        lines.push("no thread waited for a lock 1".to_owned());
        let mut graph = Vec::new();
        draw(profile, &lines, &mut graph)?;
        let graph =
            String::from_utf8_lossy(&graph).replace("(1 us, 100%)", "(0 us)").replace("(1 us, 100.00%)", "(0 us)");
        return Ok(to.write_all(graph.as_bytes())?);
    }
    draw(profile, &lines, to)
}

fn draw(profile: &Profile, lines: &[String], to: &mut dyn Write) -> Result<()> {
    let mut options = Options::default();
    options.title = "Time that threads waited for locks".to_owned();
    options.subtitle = Some(plain(&profile.program.command.join(" ")));
    options.count_name = "us".to_owned();
    // A stack has the same colours in every run.
    options.hash = true;
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), to)
        .context("the flame graph could not be drawn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_neither_frame_nor_line() {
        assert_eq!(escaped("f<[u8; 4]>\n"), "f<[u8: 4]> ");
        assert_eq!(escaped(""), "?");
    }
}
