//! The parts of a recording that a program's starter writes: an empty one before the run, the ending after it.

use crate::layout::{
    CHUNKS, CLOCK_TSC, ENDED, FILE_BYTES, Header, HeaderCopy, LAYOUT, MAGIC, MODULES, Module, REF_UNIT, RUNNING, Ref,
    VERSION,
};
use crate::reader;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Creates an empty recording, replacing any existing file.
pub fn create(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_len(CHUNKS)?;
    file.write_all_at(&VERSION.to_ne_bytes(), offset_of!(Header, version) as u64)?;
    file.write_all_at(&LAYOUT.to_ne_bytes(), offset_of!(Header, layout) as u64)?;
    file.write_all_at(&MAGIC.to_ne_bytes(), offset_of!(Header, magic) as u64)
}

/// Makes the threads of a still empty recording keep stretches of their operations in order ([`crate::Step`]).
pub fn keep_steps(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all_at(&1_u32.to_ne_bytes(), offset_of!(Header, steps) as u64)
}

/// Writes into a recording the checksums of files by which a reader can identify them later: each with its index among
/// the modules.
pub fn note_checksums(path: &Path, sums: &[(usize, u32)]) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    for (place, sum) in sums {
        let (piece, within) = (*place as u64 / MODULES.in_piece(), *place as u64 % MODULES.in_piece());
        let mut start = [0; size_of::<Ref>()];
        file.read_exact_at(&mut start, MODULES.table + piece * size_of::<Ref>() as u64)?;
        let start = u64::from(Ref::from_ne_bytes(start)) * REF_UNIT;
        if start == 0 {
            continue;
        }
        let module = start + MODULES.first() + within * MODULES.record;
        file.write_all_at(&sum.to_ne_bytes(), module + offset_of!(Module, checksum) as u64)?;
        file.write_all_at(&1_u32.to_ne_bytes(), module + offset_of!(Module, has_checksum) as u64)?;
    }
    Ok(())
}

/// The way a process ended, and where it ran.
pub struct End<'a> {
    /// [`crate::EXITED`] or [`crate::SIGNALLED`].
    pub ending: u32,
    /// The status or signal.
    pub value: u32,
    /// `CLOCK_MONOTONIC` now, ns.
    pub monotonic_ns: u64,
    /// The machine, as the reports name it.
    pub machine: &'a str,
}

/// Writes the ending into a recording whose process has ended, and the current values of both clocks.
pub fn finish(path: &Path, end: &End) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    write_clocks(&file, end.monotonic_ns)?;
    write_machine(&file, end.machine)?;
    file.write_all_at(&end.ending.to_ne_bytes(), offset_of!(Header, ending) as u64)?;
    file.write_all_at(&end.value.to_ne_bytes(), offset_of!(Header, ending_value) as u64)?;
    trim(&file)
}

/// Writes into the recording of a child whose ending was not observed that it ended, if it did, and the current values
/// of both clocks: it did not run longer. A child that ended normally has recorded so, and when.
pub fn look_after(path: &Path, monotonic_ns: u64, machine: &str, runs: impl FnOnce(u32) -> bool) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let header = read_header(&file)?;
    write_machine(&file, machine)?;
    if header.ending == RUNNING {
        write_clocks(&file, monotonic_ns)?;
    }
    if runs(header.pid) {
        return Ok(());
    }
    if header.ending == RUNNING {
        file.write_all_at(&ENDED.to_ne_bytes(), offset_of!(Header, ending) as u64)?;
    }
    trim(&file)
}

/// Writes the current values of both clocks.
fn write_clocks(file: &File, monotonic_ns: u64) -> io::Result<()> {
    let ticks = if read_header(file)?.clock == CLOCK_TSC { crate::clock::counter() } else { monotonic_ns };
    file.write_all_at(&ticks.to_ne_bytes(), offset_of!(Header, ticks_end) as u64)?;
    file.write_all_at(&monotonic_ns.to_ne_bytes(), offset_of!(Header, monotonic_end) as u64)
}

fn write_machine(file: &File, machine: &str) -> io::Result<()> {
    let start = offset_of!(Header, machine);
    let room = offset_of!(Header, executable) - start - 1;
    file.write_all_at(&machine.as_bytes()[..machine.len().min(room)], start as u64)
}

/// Truncates the part that the program allocated in advance and did not write.
fn trim(file: &File) -> io::Result<()> {
    let needs = CHUNKS + read_header(file)?.used.min(FILE_BYTES - CHUNKS);
    if file.metadata()?.len() > needs { file.set_len(needs) } else { Ok(()) }
}

fn read_header(file: &File) -> io::Result<HeaderCopy> {
    let mut bytes = vec![0; size_of::<HeaderCopy>()];
    file.read_exact_at(&mut bytes, 0)?;
    reader::first(&bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
