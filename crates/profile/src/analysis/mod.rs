//! Makes a profile from a recording.

mod clock;
mod conditions;
pub(crate) mod cycles;
mod deadlocks;
mod lines;
pub(crate) mod lock_classes;
mod misuses;
mod names;
mod order;
mod pending;
pub(crate) mod runtimes;
mod sites;
mod sleeps;
mod slept;
pub mod spread;
mod sums;
mod threads;
mod waits;

use crate::figures::plural;
use crate::model::{Ending, FrameId, Lock, LockKind, Profile, Program, SCHEMA, StackId};
use crate::output::sound;
use crate::symbols::{Identity, Kept, Module, Stamp, Symbols};
use crate::template::{context, lines};
use anyhow::{Context, Result};
use clock::Clock;
pub use deadlocks::circles;
pub use lock_classes::{is_lock_class, kind_of, passes_on};
pub use names::{call_site, is_wrapper, shown};
use pending::Pending;
use sites::Sites;
use sleeps::Sleeps;
pub use slept::{Slept, slept, slept_on};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use sums::Sum;
use turnwise_present::others::Others;
use turnwise_present::printable;
use turnwise_recording::reader::{Recording, modules_so_far};
use turnwise_recording::{
    Class, EntryCopy, HeaderCopy, LockCopy, ModuleCopy, Ref, WHY_DESCRIPTORS, WHY_DISK, WHY_FILE_SIZE, WHY_FILTER,
    WHY_MANY, WHY_MEMORY, WHY_UNREACHABLE, marked,
};

/// The most locks that a profile lists individually, besides those in cycles: those with most waits and acquisitions.
const MOST_LOCKS: usize = 20_000;

/// The data shared by the steps of the analysis.
struct Work<'a> {
    recording: &'a Recording,
    clock: Clock,
    symbols: Symbols,
    duration_ns: u64,
    pending: &'a Pending,
    sleeps: &'a Sleeps,
    /// Whether the locks report what happens inside.
    reports: bool,
    /// The profile's stacks so far, and their numbers by their places in the recording.
    stacks: Vec<Vec<FrameId>>,
    known: HashMap<Ref, Option<StackId>>,
}

impl Work<'_> {
    /// Returns the stack at a place; it is created at the first request.
    fn stack(&mut self, place: Ref) -> Option<StackId> {
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let id = self.recording.stack(place).map(|addresses| {
            let frames = addresses.iter().flat_map(|address| self.symbols.of_return_address(*address));
            self.stacks.push(frames.collect());
            self.stacks.len() as StackId - 1
        });
        self.known.insert(place, id);
        id
    }
}

/// Makes the profile from a recording.
///
/// # Errors
/// The recording is damaged: its figures add up to values that no run can have.
pub fn analyse(recording: &Recording) -> Result<Profile> {
    analyse_with(recording, &Kept::default())
}

/// Makes the profile from a recording, with files that were kept while the program ran.
///
/// # Errors
/// As for [`analyse`].
pub fn analyse_with(recording: &Recording, kept: &Kept) -> Result<Profile> {
    let header = &recording.header;
    let clock = Clock::of(header);
    let end = last(recording);
    let duration_ns = clock.since_start(end);
    let mut symbols = Symbols::new(modules(recording, kept));
    let sleeps = &Sleeps::collect(recording, &mut symbols);
    let pending = &Pending::collect(recording, end, Some(sleeps));
    let reports = header.lock_events != 0;
    let mut work = Work {
        recording,
        clock,
        symbols,
        duration_ns,
        pending,
        sleeps,
        reports,
        stacks: Vec::new(),
        known: HashMap::new(),
    };
    let mut profile = Profile { schema: SCHEMA, program: program(header, duration_ns), ..Profile::default() };
    let mut sites = Sites::collect(recording, pending, sleeps);
    let uncounted = uncounted(recording, &sites);
    let orders = order::collect(recording);
    let in_cycles = orders.cycles.iter().flatten().map(|step| step.held.0).collect();
    let left_out = sites.keep(MOST_LOCKS, &in_cycles);
    profile.locks = sites.lock_numbers().iter().map(|number| lock(&mut work, *number, &sites)).collect();
    profile.threads = threads::all(&work);
    waits::fill(&mut work, &sites, &mut profile);
    profile.conditions = conditions::all(&mut work, &sites);
    profile.awaited = sleeps.awaited(&mut work);
    profile.cycles = order::in_profile(&orders.cycles, &sites);
    profile.orders = order::all(&orders, &sites);
    profile.shared_lines = lines::shared(recording, &sites, &profile);
    names::fill(&mut work, &sites, &mut profile);
    profile.misuses = misuses::all(&mut work, &sites, &profile);
    profile.stacks = work.stacks;
    let (frames, troubles) = work.symbols.finish();
    profile.frames = frames;
    profile.recording.hold_one_in = header.hold_one_in;
    profile.recording.stack_one_in = header.stack_one_in;
    profile.recording.acquisitions_unattributed = header.unattributed + nested(recording) + uncounted;
    profile.recording.missing = missing(header);
    profile.recording.remarks = remarks(recording, left_out, troubles);
    if !orders.is_complete {
        let remark = "the locks are taken in too many orders: not all were searched for cycles".to_owned();
        profile.recording.remarks.push(remark);
    }
    profile.deadlocks = deadlocks::all(pending, recording, clock, &sites, &profile);
    profile.recording.still_waiting = pending.waits.len() as u64;
    profile.recording.others = others(header);
    spread::waits(&mut profile);
    if let Some(remark) = pending.remark(&sites, &profile) {
        profile.recording.remarks.insert(0, remark);
    }
    sound(&profile).context("the recording is damaged; record the program again")?;
    Ok(profile)
}

/// Returns the ticks that all threads waited for pthread locks, including waits that had not ended.
pub fn waited(recording: &Recording) -> u64 {
    let is_lock = |entry: &&EntryCopy| {
        let lock = recording.locks.get(entry.lock as usize);
        !lock.is_some_and(|lock| Class::is_slept_on(lock.class))
    };
    let details = recording.entries.iter().filter(is_lock).filter_map(|entry| recording.detail(entry.detail));
    let ended: u64 = details.map(|detail| detail.wait_sum).sum();
    let pending = Pending::collect(recording, last(recording), None);
    pending.waits.iter().fold(ended, |sum, wait| sum.saturating_add(wait.ticks))
}

/// Returns the ticks at the last recorded activity.
fn last(recording: &Recording) -> u64 {
    let waits = recording.episodes.iter().map(|wait| wait.began.max(wait.acquired).max(wait.released));
    let threads = recording.threads.iter().map(|thread| thread.began.max(thread.ended));
    waits.chain(threads).fold(recording.header.ticks_end, u64::max)
}

fn nested(recording: &Recording) -> u64 {
    recording.threads.iter().map(|thread| thread.nested).sum()
}

/// Returns the number of acquisitions that threads had written down but not yet counted by lock and site.
fn uncounted(recording: &Recording, sites: &Sites) -> u64 {
    if recording.header.journals == 0 {
        return 0;
    }
    let of_threads = recording.threads.iter().map(|thread| thread.ahead.saturating_sub(u64::from(thread.left)));
    of_threads.sum::<u64>().saturating_sub(sites.acquisitions())
}

fn program(header: &HeaderCopy, duration_ns: u64) -> Program {
    let command = header.command.split(|byte| *byte == 0);
    let mut command: Vec<String> = command.map(text).collect();
    while command.last().is_some_and(String::is_empty) {
        command.pop();
    }
    Program {
        command,
        pid: header.pid,
        started_unix_s: header.started_unix_ns / 1_000_000_000,
        duration_ns,
        ending: match header.ending {
            turnwise_recording::EXITED => Ending::Exited(header.ending_value as i32),
            turnwise_recording::SIGNALLED => Ending::Signalled(header.ending_value as i32),
            turnwise_recording::ENDED => Ending::Ended,
            _ => Ending::Running,
        },
        policy: text(&header.policy),
        cpus: header.cpus,
        machine: text(&header.machine),
    }
}

/// Returns the text up to the first zero byte, without characters that a terminal would interpret.
fn text(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(before_zero(bytes))).into_owned()
}

fn before_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Returns the checksums by which files of a recording can be identified later, for unchanged files without better
/// identification: by their index in [`Recording::modules`].
pub fn checksums(recording: &Recording) -> Vec<(usize, u32)> {
    let complete = recording.modules.iter().enumerate().filter(|(_, module)| module.end != 0);
    let all = complete.map(|(place, module)| (place, module_of(&recording.header, module).checksum()));
    all.filter_map(|(place, sum)| Some((place, sum?))).collect()
}

/// Parses the CPU use of others, which follows the machine's name.
fn others(header: &HeaderCopy) -> Option<Others> {
    let behind = header.machine.splitn(2, |byte| *byte == 0).nth(1)?;
    let reported = text(behind);
    let (programs, host) = reported.split_once(' ')?;
    let share = |text: &str| text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    Some(Others { programs: share(programs)?, host: share(host)? })
}

fn modules(recording: &Recording, kept: &Kept) -> Vec<Module> {
    let complete = recording.modules.iter().filter(|module| module.end != 0);
    let as_kept = |module: Module| match kept.file(&module) {
        Some(file) => Module { identity: Identity::Open(file), ..module },
        None => module,
    };
    complete.map(|module| as_kept(module_of(&recording.header, module))).collect()
}

/// Keeps the files of a running program that its recording names so far; none, if that cannot be read yet.
pub fn keep(recording: &Path, kept: &mut Kept) {
    let Ok((header, modules)) = modules_so_far(recording) else { return };
    for module in modules.iter().filter(|module| module.end != 0) {
        kept.keep(header.pid, &module_of(&header, module));
    }
}

fn module_of(header: &HeaderCopy, module: &ModuleCopy) -> Module {
    let path = before_zero(&module.path);
    let path = if path.is_empty() { before_zero(&header.executable) } else { path };
    let id = &module.build_id[..(module.build_id_bytes as usize).min(module.build_id.len())];
    let identity = if !id.is_empty() {
        Identity::BuildId(id.to_vec())
    } else if module.has_checksum != 0 {
        Identity::Checksum(module.checksum)
    } else if module.inode != 0 {
        Identity::Stamp(Stamp { inode: module.inode, bytes: module.bytes, changed_ns: module.changed_ns })
    } else {
        Identity::UnchangedSince(header.started_unix_ns)
    };
    Module { range: module.start..module.end, base: module.base, path: OsStr::from_bytes(path).into(), identity }
}

fn lock(work: &mut Work, number: u32, sites: &Sites) -> Lock {
    let Some(copy) = copy(work, number) else { return Lock::default() };
    let group = work.sleeps.of_number(number);
    let mut sum = Sum::default();
    for site in sites.of_lock(number) {
        sum.merge(&site.sum);
    }
    let (over_time, step_ns) = sum.over_time(work.clock, work.duration_ns);
    let (kind, mut usage) = (group.map_or_else(|| kind(copy), |group| group.kind), sum.usage(work.clock, work.reports));
    let wake_ups = group.map_or((0, 0), |group| group.wake_ups);
    let variable = work.symbols.variable(place_of(copy)).filter(|_| !kind.is_parked());
    if kind != LockKind::RwLock {
        usage = sums::held_by_one(usage, work.duration_ns);
    }
    Lock {
        address: copy.address,
        kind,
        // Others are named at the end.
        name: variable.as_ref().map(|found| runtimes::named(found.name.clone())).unwrap_or_default(),
        symbol: variable.map(|found| format!("{} ({})", found.name, found.module)),
        usage,
        wake_ups,
        over_time,
        step_ns,
        ..Lock::default()
    }
}

/// Returns a lock of the recording, or that of sleeps in a lock.
fn copy<'a>(work: &Work<'a>, number: u32) -> Option<&'a LockCopy> {
    match work.sleeps.of_number(number) {
        Some(group) => group.copy(work.recording),
        None => work.recording.locks.get(number as usize),
    }
}

/// Returns a lock's address, with the mark of its module if another has replaced that.
fn place_of(lock: &LockCopy) -> u64 {
    if lock.replaced == 0 { lock.address } else { marked(lock.address, lock.replaced) }
}

fn kind(lock: &LockCopy) -> LockKind {
    /// Robust, priority-inheriting, priority-protected, process-shared.
    const SPECIAL: u32 = 0x10 | 0x20 | 0x40 | 0x80;
    match lock.class {
        class if class == Class::RwLock as u32 => LockKind::RwLock,
        class if class == Class::Spin as u32 => LockKind::SpinLock,
        _ if lock.kind & SPECIAL != 0 => LockKind::SpecialMutex,
        _ => match lock.kind & 3 {
            1 => LockKind::RecursiveMutex,
            2 => LockKind::ErrorCheckMutex,
            _ => LockKind::Mutex,
        },
    }
}

/// Describes what is missing in a recording, of its process and of its descendants.
fn missing(header: &HeaderCopy) -> Vec<String> {
    let full = (header.full != 0).then(|| {
        format!("This process ran out of room for its recording: {}. What came later is missing.", why(header.full))
    });
    unrecorded(header).into_iter().chain(full).collect()
}

/// Describes how many processes of a run could not be recorded, and why.
pub fn unrecorded(header: &HeaderCopy) -> Option<String> {
    let processes = plural(header.unrecorded.into(), "process", "processes");
    (header.unrecorded > 0).then(|| format!("{processes} could not be recorded: {}.", why(header.unrecorded_why)))
}

fn why(number: u32) -> &'static str {
    match number {
        WHY_FILE_SIZE => "its limit on the size of files (RLIMIT_FSIZE, ulimit -f) leaves no room",
        WHY_MEMORY => "its limit on address space or locked memory (ulimit -v, ulimit -l) leaves no room",
        WHY_DISK => "the disk of the recording is full; TMPDIR or --recording names another",
        WHY_UNREACHABLE => "the file is out of its reach: it became another user, or changed its root directory",
        WHY_DESCRIPTORS => "its limit on descriptors (RLIMIT_NOFILE, ulimit -n) leaves it none",
        WHY_MANY => "there were too many processes, or too much to record",
        WHY_FILTER => "it installed a filter of system calls (seccomp), and what was not there before would need some",
        _ => "the system refused it",
    }
}

fn remarks(recording: &Recording, left_out: (usize, u64), troubles: Vec<String>) -> Vec<String> {
    let header = &recording.header;
    let values = context! {
        can_unwind => header.can_unwind != 0,
        locks_left_out => left_out.0,
        acquisitions_left_out => left_out.1,
        dropped => recording.threads.iter().map(|thread| thread.dropped).sum::<u64>(),
        stack_one_in => header.stack_one_in,
        lock_events => header.lock_events != 0 || !recording.locks.iter().any(|lock| !Class::is_slept_on(lock.class)),
    };
    troubles.into_iter().chain(lines(include_str!("../../assets/remarks.jinja"), values)).collect()
}
