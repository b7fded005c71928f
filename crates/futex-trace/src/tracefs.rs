//! The futex calls' tracepoints, as the trace file system describes them.

use crate::call::SysCall;
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Its mount points, on current systems and those before 4.1.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracepoint at one end of a system call.
#[derive(Clone, Debug)]
pub(crate) struct Tracepoint {
    pub(crate) call: SysCall,
    /// Whether it is at the call's beginning, not at its end.
    pub(crate) is_entry: bool,
    /// The kernel's number for it.
    pub(crate) id: u64,
    /// The offsets of the fields that the call is decoded from, in order of [`SysCall::fields`]; at an end, its result.
    pub(crate) offsets: Vec<usize>,
}

/// Finds the tracepoints of the futex calls that this kernel has, of `futex` itself in any case; an error states what
/// to do.
pub(crate) fn find() -> Result<Vec<Tracepoint>> {
    let events = directory(&PLACES)?;
    let mut found = Vec::new();
    for call in SysCall::ALL {
        for is_entry in [true, false] {
            let name = format!("sys_{}_{}", if is_entry { "enter" } else { "exit" }, call.name());
            let directory = events.join(&name);
            if call != SysCall::Futex && !directory.exists() {
                continue;
            }
            found.push(read(&directory, call, is_entry).with_context(|| format!("the tracepoint {name}"))?);
        }
    }
    Ok(found)
}

fn directory(places: &[&str]) -> Result<PathBuf> {
    let mut forbidden = None;
    for place in places {
        let events = Path::new(place).join("events/syscalls");
        match std::fs::read_dir(&events) {
            Ok(_) => return Ok(events),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => forbidden = forbidden.or(Some(place)),
            Err(_) => {}
        }
    }
    if let Some(place) = forbidden {
        bail!(
            "{place} may be read by root only, and the numbers of the futex calls' tracepoints are there: run turnwise \
             as root, or let root type: mount -o remount,mode=755 {place}"
        );
    }
    bail!(
        "the kernel's trace file system is not mounted, or has no events/syscalls, at {}: as root, type: mount -t \
         tracefs nodev {} (in a container: on the host, and pass the directory in)",
        places.join(" nor at "),
        places[0]
    );
}

fn read(directory: &Path, call: SysCall, is_entry: bool) -> Result<Tracepoint> {
    let text = |name: &str| {
        let path = directory.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read; run as root", path.display()))
    };
    let id = text("id")?;
    let id = id.trim().parse().with_context(|| format!("its id is not a number: {id:?}"))?;
    let format = text("format")?;
    let fields = if is_entry { call.fields() } else { &["ret"] };
    let offset = |field: &&str| offset_of(&format, field).with_context(|| format!("it has no field {field}"));
    Ok(Tracepoint { call, is_entry, id, offsets: fields.iter().map(offset).collect::<Result<_>>()? })
}

/// Returns a field's offset, from a line such as `field:u32 * uaddr; offset:16; size:8; signed:0;`.
fn offset_of(format: &str, field: &str) -> Option<usize> {
    let mut lines = format.lines().filter_map(|line| line.trim().strip_prefix("field:"));
    let parts = lines.find_map(|line| {
        let (declared, rest) = line.split_once(';')?;
        (declared.rsplit([' ', '*']).next()? == field).then_some(rest)
    })?;
    parts.split(';').find_map(|part| part.trim().strip_prefix("offset:"))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let format = "name: x\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
                      \tfield:u32 * uaddr;\toffset:16;\tsize:8;\tsigned:0;\n\
                      \tfield:u32 *uaddr2;\toffset:48;\tsize:8;\tsigned:0;\nprint fmt: \"uaddr\"\n";
        assert_eq!(
            ["uaddr", "uaddr2", "common_pid", "addr"].map(|field| offset_of(format, field)),
            [Some(16), Some(48), Some(4), None]
        );
    }

    #[test]
    fn a_missing_file_system_is_named_with_the_remedy() {
        let message = directory(&["/no/such/place"]).unwrap_err().to_string();
        assert!(message.contains("mount -t tracefs") && message.contains("/no/such/place"), "{message}");
    }
}
