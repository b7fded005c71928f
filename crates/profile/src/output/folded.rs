//! Folded stacks: a line for each stack, outermost frame first, and the microseconds that it waited.

use super::stacks;
use crate::model::{Frame, Profile};
use crate::text::lines::plain;
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::Write;

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    for line in lines(profile) {
        writeln!(to, "{line}")?;
    }
    Ok(())
}

/// Returns the lines, sorted. The innermost frame of each is the lock, in brackets.
pub(super) fn lines(profile: &Profile) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_neither_frame_nor_line() {
        assert_eq!(escaped("f<[u8; 4]>\n"), "f<[u8: 4]> ");
        assert_eq!(escaped(""), "?");
    }
}
