//! Copies a recording out of its file. Whatever the file holds, reading it ends in an error or in data.

mod holes;
mod plausible;

use crate::kinds::ChunkKind;
use crate::layout::{
    CHUNK_HEADER, CHUNKS, ChunkCopy, DetailCopy, EdgeCopy, EntryCopy, EpisodeCopy, FILE_BYTES, HeaderCopy, LAYOUT,
    LOCKS, LockCopy, MAGIC, MODULES, MisuseCopy, ModuleCopy, PAGE, REF_UNIT, Ref, Region, STACK_FRAMES, StepCopy,
    THREADS, TallyCopy, ThreadCopy, VERSION,
};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::{fmt, io};
use zerocopy::FromBytes;

/// The reason that a file is not a usable recording.
#[derive(Debug)]
pub enum Error {
    /// It cannot be read.
    Io(io::Error),
    /// It does not begin like a recording.
    Foreign,
    /// Another version of the program wrote it: version and layout.
    Version(u32, u32),
    /// It ends too early: the bytes it has, and those it should have.
    Truncated(u64, u64),
    /// No program has recorded into it.
    Unused,
    /// It contains values that no run can have.
    Damaged(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => write!(f, "cannot read it: {error}"),
            Error::Foreign => f.write_str("not a turnwise recording (bad magic number)"),
            Error::Version(version, _) if *version != VERSION => {
                write!(
                    f,
                    "layout {version}, but this turnwise reads layout {VERSION}; read it with the one that made it"
                )
            }
            Error::Version(_, layout) => {
                write!(
                    f,
                    "another build of turnwise made it (record layout {layout}, not {LAYOUT}); read it with that build"
                )
            }
            Error::Truncated(has, needs) => {
                write!(f, "truncated: {has} of {needs} bytes; copy the whole file again")
            }
            Error::Unused => f.write_str("no program has recorded into it"),
            Error::Damaged(what) => write!(f, "damaged: {what}; record the program again"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

/// The contents of a recording.
pub struct Recording {
    /// The header.
    pub header: HeaderCopy,
    /// The program's threads.
    pub threads: Vec<ThreadCopy>,
    /// The program's files.
    pub modules: Vec<ModuleCopy>,
    /// The program's locks and condition variables.
    pub locks: Vec<LockCopy>,
    /// The operations by thread, lock and site.
    pub entries: Vec<EntryCopy>,
    /// For each entry, the thread that first owned it: its number plus 1.
    pub owners: Vec<u32>,
    /// The individual waits.
    pub episodes: Vec<EpisodeCopy>,
    /// Which lock was acquired under which.
    pub edges: Vec<EdgeCopy>,
    /// What threads did with locks that POSIX forbids.
    pub misuses: Vec<MisuseCopy>,
    /// Stretches of threads' operations in order: for each chunk, the thread that took it (its number plus 1), and the
    /// steps in it. A thread's stretches continue from one of its chunks to the next.
    pub steps: Vec<(u32, Vec<StepCopy>)>,
    /// Index in `entries` by place.
    by_place: HashMap<Ref, usize>,
    chunks: Vec<u8>,
}

impl Recording {
    /// Reads a recording.
    pub fn read(path: &Path) -> Result<Recording, Error> {
        // A pipe would wait for a writer.
        if !path.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file; name one").into());
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let header = header(&file, length)?;
        let needs = CHUNKS + header.used.min(FILE_BYTES - CHUNKS);
        if length < needs {
            return Err(Error::Truncated(length, needs));
        }
        let (chunks, parts) = holes::read(&file, CHUNKS, needs - CHUNKS)?;
        let piece = |start: usize, to: &mut [u8]| {
            if let Some(found) = start.checked_add(to.len()).and_then(|end| chunks.get(start..end)) {
                to.copy_from_slice(found);
            }
        };
        let mut recording = Recording {
            threads: region(&file, piece, THREADS, header.threads)?,
            modules: region(&file, piece, MODULES, header.modules)?,
            locks: region(&file, piece, LOCKS, header.locks)?,
            header,
            entries: Vec::new(),
            owners: Vec::new(),
            episodes: Vec::new(),
            edges: Vec::new(),
            misuses: Vec::new(),
            steps: Vec::new(),
            by_place: HashMap::new(),
            chunks,
        };
        recording.walk(&parts);
        plausible::check(&recording)?;
        Ok(recording)
    }

    /// Visits all chunks. A process that was killed may leave pages between them that belong to none. `parts`: the
    /// parts with data.
    fn walk(&mut self, parts: &[Range<usize>]) {
        let mut at = 0;
        while let Some(chunk) = self.chunks.get(at..).and_then(first::<ChunkCopy>) {
            let pages = (chunk.pages as usize).max(1);
            let end = at.saturating_add(pages.saturating_mul(PAGE as usize)).min(self.chunks.len());
            let (start, count) = (at + CHUNK_HEADER as usize, chunk.count);
            let end_of_chunk = end;
            // Records in use were written: a chunk that claims more, in gigabytes that do not exist, has none of them.
            let end = end.min(holes::end(parts, at));
            if chunk.kind == ChunkKind::Entries as u32 {
                for (place, entry) in records::<EntryCopy>(&self.chunks, start, end, count) {
                    let place = ((place as u64 + CHUNKS) / REF_UNIT) as Ref;
                    self.by_place.insert(place, self.entries.len());
                    self.entries.push(entry);
                    self.owners.push(chunk.thread);
                }
            } else if chunk.kind == ChunkKind::Episodes as u32 {
                let all = records::<EpisodeCopy>(&self.chunks, start, end, count).map(|(_, episode)| episode);
                // Episodes without an entry are reserved for future waits.
                self.episodes.extend(all.filter(|episode| episode.entry != 0));
            } else if chunk.kind == ChunkKind::Edges as u32 {
                self.edges.extend(records(&self.chunks, start, end, count).map(|(_, edge)| edge));
            } else if chunk.kind == ChunkKind::Misuses as u32 {
                self.misuses.extend(records(&self.chunks, start, end, count).map(|(_, misuse)| misuse));
            } else if chunk.kind == ChunkKind::Steps as u32 {
                let steps = records(&self.chunks, start, end, count).map(|(_, step)| step);
                self.steps.push((chunk.thread, steps.collect()));
            }
            at = if chunk.kind == 0 { holes::next(parts, at + PAGE as usize) } else { end_of_chunk };
        }
    }

    /// Returns the index in [`Recording::entries`] of an entry.
    #[must_use]
    pub fn entry_at(&self, place: Ref) -> Option<usize> {
        self.by_place.get(&place).copied()
    }

    /// Returns the distributions at a place.
    #[must_use]
    pub fn detail(&self, place: Ref) -> Option<DetailCopy> {
        self.at(place).and_then(first)
    }

    /// Returns the tallies that begin at a place.
    #[must_use]
    pub fn tallies(&self, begin: Ref) -> Vec<TallyCopy> {
        /// More than any recorder makes; a file with a cycle ends here.
        const LIMIT: usize = 4096;
        let mut found = Vec::new();
        let mut next = begin;
        while next != 0 && found.len() < LIMIT {
            let Some(tally) = self.at(next).and_then(first::<TallyCopy>) else { break };
            next = tally.next;
            found.push(tally);
        }
        found
    }

    /// Returns the return addresses of a stack, innermost first.
    #[must_use]
    pub fn stack(&self, place: Ref) -> Option<Vec<u64>> {
        let bytes = self.at(place)?;
        let count = usize::try_from(first::<u64>(bytes)?).ok().filter(|count| *count <= STACK_FRAMES)?;
        bytes.get(8..8 + count * 8)?.chunks(8).map(first).collect()
    }

    /// Returns the number of bytes in which records may lie.
    pub(crate) fn room(&self) -> usize {
        self.chunks.len()
    }

    fn at(&self, place: Ref) -> Option<&[u8]> {
        let offset = (u64::from(place) * REF_UNIT).checked_sub(CHUNKS)?;
        (place != 0).then(|| self.chunks.get(usize::try_from(offset).ok()?..)).flatten()
    }
}

/// Reads the header of a recording, into which a program may not yet have recorded.
///
/// # Errors
/// The file cannot be read, or is not a recording.
pub fn unused(path: &Path) -> Result<HeaderCopy, Error> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    sound_header(&file, length)
}

/// Reads what a recording contains so far about the program's files, while the program may be running.
///
/// # Errors
/// The file cannot be read, or is not a recording that a program records into.
pub fn modules_so_far(path: &Path) -> Result<(HeaderCopy, Vec<ModuleCopy>), Error> {
    let file = File::open(path)?;
    let header = header(&file, file.metadata()?.len())?;
    // Zeros where reads fail.
    let piece = |start: usize, to: &mut [u8]| drop(file.read_exact_at(to, CHUNKS + start as u64));
    let modules = region(&file, piece, MODULES, header.modules)?;
    Ok((header, modules))
}

fn header(file: &File, length: u64) -> Result<HeaderCopy, Error> {
    let header = sound_header(file, length)?;
    if header.pid == 0 { Err(Error::Unused) } else { Ok(header) }
}

fn sound_header(file: &File, length: u64) -> Result<HeaderCopy, Error> {
    let mut page = vec![0; PAGE.min(length) as usize];
    file.read_exact_at(&mut page, 0)?;
    if first(&page) != Some(MAGIC) {
        return Err(Error::Foreign);
    }
    let header = first::<HeaderCopy>(&page).ok_or(Error::Truncated(length, PAGE))?;
    if header.version != VERSION || header.layout != LAYOUT {
        return Err(Error::Version(header.version, header.layout));
    }
    Ok(header)
}

/// Reads a value from the start of `bytes`; `None`: they are too few.
pub(crate) fn first<T: FromBytes>(bytes: &[u8]) -> Option<T> {
    T::read_from_prefix(bytes).ok().map(|(found, _)| found)
}

/// Returns the records of a region that contain data. Whatever the header says, records that were never written are
/// absent.
fn region<T: FromBytes>(
    file: &File,
    piece: impl Fn(usize, &mut [u8]),
    region: Region,
    used: u32,
) -> Result<Vec<T>, Error> {
    let used = u64::from(used).min(region.count);
    let mut table = vec![0; used.div_ceil(region.in_piece()) as usize * size_of::<Ref>()];
    file.read_exact_at(&mut table, region.table)?;
    let places: Vec<Ref> = table.chunks(size_of::<Ref>()).filter_map(first).collect();
    let last = places.iter().rposition(|place| *place != 0).map_or(0, |last| last + 1);
    let (size, record) = ((region.in_piece() * region.record) as usize, region.record as usize);
    let mut bytes = vec![0; last * size];
    // A piece that many records refer to would be read repeatedly.
    let mut seen = HashSet::new();
    let theirs = places.iter().zip(bytes.chunks_mut(size)).filter(|(place, _)| seen.insert(**place));
    for (place, to) in theirs {
        let start = (u64::from(*place) * REF_UNIT).checked_sub(CHUNKS).map(|at| (at + region.first()) as usize);
        if let Some(start) = start {
            piece(start, to);
        }
    }
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / record + 1);
    let written = written.min(used as usize);
    Ok(bytes[..written * record].chunks(record).filter_map(first).collect())
}

/// Returns the records of a chunk, each with its place in `bytes`.
fn records<T: FromBytes>(bytes: &[u8], start: usize, end: usize, count: u32) -> impl Iterator<Item = (usize, T)> {
    let size = size_of::<T>();
    let places = (start..end).step_by(size).take(count as usize).take_while(move |at| at + size <= end);
    places.filter_map(|at| Some((at, first(&bytes[at..])?)))
}
