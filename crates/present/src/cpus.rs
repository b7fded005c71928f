//! The CPUs that this process may use, and pinning threads to one.

use anyhow::{Context, Result, bail};
use std::{fs, io};

/// More CPUs than any kernel supports; it keeps a broken list from filling memory.
const LIMIT: u32 = 1 << 16;

/// Lists the CPUs that this thread may use.
pub fn allowed() -> Result<Vec<u32>> {
    let path = "/proc/thread-self/status";
    let status = fs::read_to_string(path).with_context(|| format!("cannot read {path}: is /proc mounted?"))?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list = list.with_context(|| format!("{path} has no Cpus_allowed_list: turnwise needs Linux"))?;
    parse_list(list).with_context(|| format!("{path}: Cpus_allowed_list"))
}

/// Pins the calling thread to one CPU. It does not allocate, so that a forked child may call it.
pub fn stay_on(cpu: u32) -> io::Result<()> {
    const BITS: usize = usize::BITS as usize;
    let mut set = [0_usize; LIMIT as usize / BITS];
    *set.get_mut(cpu as usize / BITS).ok_or(io::ErrorKind::InvalidInput)? = 1 << (cpu as usize % BITS);
    // SAFETY: the kernel reads the given number of bytes of the set, which may be more or fewer than its own has.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&set), set.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Parses a list of numbers as the kernel writes it: `0-3,8`.
pub fn parse_list(list: &str) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in list.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().with_context(|| format!("not a list of CPUs: {list:?}"));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= LIMIT {
            bail!("not a list of CPUs: {list:?}");
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}
