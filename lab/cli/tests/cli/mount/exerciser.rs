//! Reads, writes, mappings, truncations and holes in random order on one file, against a vector in memory; in the
//! manner of `fsx`, which Debian does not package.

use super::*;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use std::fmt::Debug;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The longest file.
const LIMIT: usize = 256 * 1024;
/// The longest access.
const ACCESS: usize = 64 * 1024;

#[derive(Debug, Clone, Copy)]
enum Step {
    Read { at: usize, len: usize },
    Write { at: usize, len: usize, fill: u8 },
    MapRead { at: usize, len: usize },
    MapWrite { at: usize, len: usize, fill: u8 },
    Truncate { to: usize },
    Punch { at: usize, len: usize },
    Allocate { at: usize, len: usize },
    Copy { from: usize, to: usize, len: usize },
    Sync,
    Reopen,
}

fn step(random: &mut fastrand::Rng, size: usize) -> Step {
    let at = random.usize(..LIMIT - ACCESS);
    let len = 1 + random.usize(..ACCESS);
    let fill = random.u8(1..);
    // Mappings reach only what is in the file.
    let inside = |at: usize| (at % size.max(1), len.min(size - at % size.max(1)).max(1));
    match random.u8(..20) {
        0..5 => Step::Read { at, len },
        5..10 => Step::Write { at, len, fill },
        10 | 11 if size > 0 => Step::MapRead { at: inside(at).0, len: inside(at).1 },
        12 | 13 if size > 0 => Step::MapWrite { at: inside(at).0, len: inside(at).1, fill },
        14 => Step::Truncate { to: random.usize(..LIMIT) },
        15 => Step::Punch { at, len },
        16 => Step::Allocate { at, len },
        17 => Step::Copy { from: random.usize(..LIMIT / 2 - ACCESS), to: LIMIT / 2 + at % (LIMIT / 2 - ACCESS), len },
        18 => Step::Sync,
        _ => Step::Reopen,
    }
}

/// What the file should hold.
#[derive(Default)]
struct Model(Vec<u8>);

impl Model {
    fn grow(&mut self, to: usize) {
        self.0.resize(self.0.len().max(to), 0);
    }

    fn read(&self, at: usize, len: usize) -> &[u8] {
        &self.0[at.min(self.0.len())..(at + len).min(self.0.len())]
    }

    fn write(&mut self, at: usize, data: &[u8]) {
        self.grow(at + data.len());
        self.0[at..at + data.len()].copy_from_slice(data);
    }
}

struct Exerciser {
    path: PathBuf,
    file: File,
    model: Model,
}

impl Exerciser {
    fn open(path: &Path) -> File {
        File::options().read(true).write(true).create(true).truncate(false).open(path).expect("it can be opened")
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Read { at, len } => {
                let mut data = vec![0xaa; len];
                let read = self.file.read_at(&mut data, at as u64).map_err(said)?;
                same(at, &data[..read], self.model.read(at, len))?;
            }
            Step::Write { at, len, fill } => {
                let data = vec![fill; len];
                self.file.write_all_at(&data, at as u64).map_err(said)?;
                self.model.write(at, &data);
            }
            Step::MapRead { at, len } => {
                self.mapped(at, len, |mapped| same(at, mapped, self.model.read(at, len)))?;
            }
            Step::MapWrite { at, len, fill } => {
                self.mapped(at, len, |mapped| {
                    mapped.fill(fill);
                    Ok(())
                })?;
                self.model.write(at, &vec![fill; len]);
            }
            Step::Truncate { to } => {
                self.file.set_len(to as u64).map_err(said)?;
                self.model.0.resize(to, 0);
            }
            Step::Punch { at, len } => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&self.file, flags, at as u64, len as u64).map_err(said)?;
                let (size, end) = (self.model.0.len(), (at + len).min(self.model.0.len()));
                self.model.0[at.min(size)..end].fill(0);
            }
            Step::Allocate { at, len } => {
                fallocate(&self.file, FallocateFlags::empty(), at as u64, len as u64).map_err(said)?;
                self.model.grow(at + len);
            }
            Step::Copy { from, to, len } => self.copy(from, to, len)?,
            Step::Sync => self.file.sync_all().map_err(said)?,
            Step::Reopen => self.file = Self::open(&self.path),
        }
        let size = self.file.metadata().map_err(said)?.len();
        if size == self.model.0.len() as u64 { Ok(()) } else { Err(format!("the size is {size}")) }
    }

    fn copy(&mut self, from: usize, to: usize, len: usize) -> Result<(), String> {
        let (mut source, mut target) = (from as u64, to as u64);
        // Without what the copy itself appends.
        let data = self.model.read(from, len).to_vec();
        let mut left = data.len();
        while left > 0 {
            let copied =
                rustix::fs::copy_file_range(&self.file, Some(&mut source), &self.file, Some(&mut target), left)
                    .map_err(said)?;
            if copied == 0 {
                return Err("a copy that ends early".to_owned());
            }
            left -= copied;
        }
        if !data.is_empty() {
            self.model.write(to, &data);
        }
        Ok(())
    }

    /// Maps the range, shows it, writes it back and unmaps it.
    fn mapped(&self, at: usize, len: usize, with: impl FnOnce(&mut [u8]) -> Result<(), String>) -> Result<(), String> {
        let start = at / 4096 * 4096;
        let bytes = at - start + len;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses; no other code changes the file while it lives, and
        // the file is at least this long.
        unsafe {
            let base = mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &self.file, start as u64)
                .map_err(said)?;
            let outcome = with(std::slice::from_raw_parts_mut(base.cast::<u8>().add(at - start), len));
            msync(base, bytes, MsyncFlags::SYNC).map_err(said)?;
            munmap(base, bytes).map_err(said)?;
            outcome
        }
    }
}

fn said(error: impl Debug) -> String {
    format!("{error:?}")
}

fn same(at: usize, found: &[u8], wanted: &[u8]) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    let first = found.iter().zip(wanted).position(|(found, wanted)| found != wanted);
    let first = first.unwrap_or(found.len().min(wanted.len()));
    let (found_byte, wanted_byte) = (found.get(first), wanted.get(first));
    Err(format!(
        "byte {} is {found_byte:?}, not {wanted_byte:?} ({} bytes, not {})",
        at + first,
        found.len(),
        wanted.len()
    ))
}

fn exercise(mounted: &Mounted, seed: u64, steps: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let path = mounted.path(&format!("exercised{seed}"));
    let mut exerciser = Exerciser { file: Exerciser::open(&path), path, model: Model::default() };
    let mut taken = Vec::new();
    for _ in 0..steps {
        let step = step(&mut random, exerciser.model.0.len());
        taken.push(step);
        if let Err(wrong) = exerciser.take(step) {
            let last = &taken[taken.len().saturating_sub(12)..];
            panic!("seed {seed}, step {}: {wrong}; the last steps: {last:#?}", taken.len());
        }
    }
}

#[test]
fn random_accesses_agree_with_a_vector() {
    for arguments in [&[][..], &["--kernel-cache", "0s"], &["--writeback"]] {
        let Some(mounted) = mount(arguments) else { return };
        (0..3).for_each(|seed| exercise(&mounted, seed, 400));
    }
}
