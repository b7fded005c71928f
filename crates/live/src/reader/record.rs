//! Makes a program record its individual waits, and reads the records.

use super::clock::Clock;
use super::copy::{self, read_at};
use super::error::{Error, Fault};
use super::folders;
use crate::layout::{EVENTS, Header, LOG_START, Part};
use crate::log::{Counts, RECORDS, RELEASES, Record, Release, STACK, Switch, flags};
use crate::{Key, Kind};
use core::mem::offset_of;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The time for which the program records without a renewed request.
const LASTS: Duration = Duration::from_secs(2);
/// The number of times that a slot being written is checked again before it is skipped: its thread may have exited.
const PATIENCE: u32 = 100;

/// The registers with which unwinding begins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Registers {
    /// The instruction pointer.
    pub instruction: u64,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// The frame pointer.
    pub frame_pointer: u64,
    /// The link register, where the processor has one.
    pub link: u64,
}

/// A wait that has ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The thread.
    pub tid: u32,
    /// The lock's address.
    pub lock: u64,
    /// The way of waiting.
    pub kind: Kind,
    /// The address to which the call returns; 0: unknown.
    pub site: u64,
    /// When it began, by `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// The number that identifies its release: [`Released::wait`].
    pub wait: u64,
    /// The number of such waits that it stands for: 1 for long ones, and more the shorter it is.
    pub weight: f64,
    /// Whether it ended with the lock.
    pub acquired: bool,
    /// Sleeps, acquisitions past threads that slept, acquisitions by a hand-off.
    pub events: [u32; EVENTS],
    /// The thread that held the lock when the wait began, if known.
    pub holder: Option<u32>,
    /// The call site at which that thread had acquired it by a wait; 0: unknown.
    pub holder_site: u64,
    /// The number of times that modules had been unloaded until then ([`super::Unloads::count`]).
    pub unloads: u64,
    /// The thread's registers.
    pub registers: Registers,
    /// The thread's stack from its pointer upwards; empty if it could not be read.
    pub stack: Vec<u8>,
}

/// The release of a lock that was acquired by a recorded wait, while others waited for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// The thread.
    pub tid: u32,
    /// The number of its wait: [`Recorded::wait`].
    pub wait: u64,
    /// The time of the release.
    pub at_ns: u64,
}

/// The recorder of a program, switched on. It goes off with this value, and soon after this process ends.
///
/// One process can have it at a time. Records must be taken several times a second, or newer ones replace them.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    path: PathBuf,
    records: Ring,
    releases: Ring,
    lost_before: u64,
    no_stack_before: u64,
    period_ns: u64,
}

/// The position up to which a ring has been read.
#[derive(Debug, Default)]
struct Ring {
    next: u64,
    /// The number of times that the next record was found unfinished.
    looks: u32,
    lost: u64,
}

impl Recorder {
    pub(crate) fn new(path: &Path, read: &File) -> Result<Recorder, Error> {
        let file = folders::open_to_write(path).map_err(|error| match error.fault {
            Fault::Io(error) => Error::new(path, Fault::NotOurs(error)),
            _ => error,
        })?;
        let fault = |error| Error::io(path, error);
        if !folders::is_same(&file, read).map_err(fault)? {
            return Err(Error::new(path, Fault::Replaced));
        }
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let profiler = copy::header(path, &file)?.switch.profiler.load(Relaxed);
                return Err(Error::new(path, Fault::Recorded(profiler)));
            }
            Err(error) => return Err(fault(error.into())),
        }
        let counts: Counts = read_at(&file, LOG_START).map_err(fault)?;
        let ring = |next: &AtomicU64| Ring { next: next.load(Relaxed), ..Ring::default() };
        let recorder = Recorder {
            records: ring(&counts.records),
            releases: ring(&counts.releases),
            lost_before: copy::header(path, &file)?.lost_records.load(Relaxed),
            no_stack_before: counts.no_stack.load(Relaxed),
            period_ns: 0,
            path: path.to_owned(),
            file,
        };
        recorder.write(offset_of!(Switch, profiler), u64::from(std::process::id()))?;
        Ok(recorder)
    }

    /// Makes the program record, for the next two seconds, each wait that lasts `period_ns` or longer, and one of the
    /// shorter waits for each `period_ns` of a thread's waiting.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn ask(&mut self, period_ns: u64) -> Result<(), Error> {
        let clock = self.clock()?;
        if period_ns != self.period_ns {
            self.write(offset_of!(Switch, period), clock.ticks_in(period_ns))?;
            self.period_ns = period_ns;
        }
        let until = clock.ns + LASTS.as_nanos() as u64;
        self.write(offset_of!(Switch, until), clock.ticks_at(until))
    }

    /// Ends the recording. Existing records can still be taken.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn stop(&self) -> Result<(), Error> {
        self.write(offset_of!(Switch, until), 0)
    }

    /// Takes the records since the last call.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn take(&mut self) -> Result<(Vec<Recorded>, Vec<Released>), Error> {
        let clock = self.clock()?;
        let counts: Counts = self.read(LOG_START)?;
        let (mut waits, mut releases) = (Vec::new(), Vec::new());
        let (mut records, mut released) = (core::mem::take(&mut self.records), core::mem::take(&mut self.releases));
        let read = |slot| {
            let (record, number) = self.slot(Record::offset(slot))?;
            Ok((number, of_record(&record, &clock)))
        };
        let taken = records.each(counts.records.load(Relaxed), RECORDS, read, &mut waits);
        let read = |slot| {
            let (release, number) = self.slot(Release::offset(slot))?;
            Ok((number, Some(of_release(&release, &clock))))
        };
        let released_taken = released.each(counts.releases.load(Relaxed), RELEASES, read, &mut releases);
        (self.records, self.releases) = (records, released);
        taken.and(released_taken)?;
        Ok((waits, releases))
    }

    /// Reads a slot, and the number with which it begins; 0: it has changed meanwhile.
    fn slot<T: FromZeros + FromBytes + IntoBytes>(&self, at: usize) -> Result<(T, u64), Error> {
        let mut value: T = self.read(at)?;
        let again: AtomicU64 = self.read(at)?;
        let number = value.as_mut_bytes().first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        Ok((value, number.filter(|number| *number == again.into_inner()).unwrap_or(0)))
    }

    /// Returns the number of records that were overwritten, or found no room, since the recorder was switched on, and
    /// of those without a stack.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn losses(&self) -> Result<(u64, u64), Error> {
        let counts: Counts = self.read(LOG_START)?;
        let no_room = copy::header(&self.path, &self.file)?.lost_records.load(Relaxed).saturating_sub(self.lost_before);
        let no_stack = counts.no_stack.load(Relaxed).saturating_sub(self.no_stack_before);
        // A slot that no thread obtained is in both.
        Ok((no_room.max(self.records.lost.saturating_add(self.releases.lost)), no_stack))
    }

    fn clock(&self) -> Result<Clock, Error> {
        copy::header(&self.path, &self.file).map(|header| Clock::of(&header))
    }

    fn read<T: FromZeros + FromBytes + IntoBytes>(&self, at: usize) -> Result<T, Error> {
        read_at(&self.file, at).map_err(|error| Error::io(&self.path, error))
    }

    fn write(&self, field: usize, value: u64) -> Result<(), Error> {
        let at = (offset_of!(Header, switch) + field) as u64;
        self.file.write_all_at(&value.to_ne_bytes(), at).map_err(|error| Error::new(&self.path, Fault::NotOurs(error)))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // If that fails, the program ends the recording by itself.
        let _ = self.stop();
        let _ = self.write(offset_of!(Switch, profiler), 0);
    }
}

impl Ring {
    /// Reads the slots that were written since the last time: `read` returns a slot's number and content. It stops at a
    /// slot that is still being written, a limited number of times.
    fn each<T>(
        &mut self,
        written: u64,
        slots: usize,
        mut read: impl FnMut(usize) -> Result<(u64, Option<T>), Error>,
        into: &mut Vec<T>,
    ) -> Result<(), Error> {
        let oldest = written.saturating_sub(slots as u64);
        if self.next < oldest {
            self.lost = self.lost.saturating_add(oldest - self.next);
            self.next = oldest;
        }
        while self.next < written {
            let (number, what) = read((self.next % slots as u64) as usize)?;
            let is_it = number == self.next + 1;
            if number <= self.next && self.looks < PATIENCE {
                self.looks += 1;
                return Ok(());
            }
            match what.filter(|_| is_it) {
                Some(what) => into.push(what),
                None => self.lost = self.lost.saturating_add(1),
            }
            (self.next, self.looks) = (self.next + 1, 0);
        }
        Ok(())
    }
}

/// Converts a record; `None`: no program can have written it.
fn of_record(record: &Record, clock: &Clock) -> Option<Recorded> {
    let key = Key::read(record.key.load(Relaxed))?;
    let [since, until, weight] = [&record.since, &record.until, &record.weight].map(|word| word.load(Relaxed));
    let length = until.checked_sub(since)?;
    let bytes = (record.stack_bytes.load(Relaxed) as usize).min(STACK);
    let stack = record.stack.iter().take(bytes / 8).flat_map(|word| word.load(Relaxed).to_ne_bytes());
    let holder = record.holder.load(Relaxed);
    Some(Recorded {
        tid: record.tid.load(Relaxed),
        lock: key.address(),
        kind: key.kind(),
        site: record.site.load(Relaxed),
        began_ns: clock.at(since),
        ended_ns: clock.at(since).saturating_add(clock.length(length)),
        wait: until,
        weight: if weight == 0 { 1.0 } else { (weight as f64 / length.max(1) as f64).max(1.0) },
        acquired: record.flags.load(Relaxed) & flags::GAVE_UP == 0,
        events: record.events.each_ref().map(|count| count.load(Relaxed)),
        holder: (holder != 0).then_some(holder),
        holder_site: record.holder_site.load(Relaxed),
        registers: Registers {
            instruction: record.instruction.load(Relaxed),
            stack_pointer: record.stack_pointer.load(Relaxed),
            frame_pointer: record.frame_pointer.load(Relaxed),
            link: record.link.load(Relaxed),
        },
        unloads: record.unloads.load(Relaxed),
        stack: stack.collect(),
    })
}

fn of_release(release: &Release, clock: &Clock) -> Released {
    Released {
        tid: release.tid.load(Relaxed),
        wait: release.since.load(Relaxed),
        at_ns: clock.at(release.at.load(Relaxed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns slots with these numbers.
    fn read(slots: &[u64]) -> impl FnMut(usize) -> Result<(u64, Option<u64>), Error> {
        |slot| Ok((slots[slot], Some(slots[slot])))
    }

    #[test]
    fn each_record_is_taken_once() {
        let (mut ring, mut taken) = (Ring::default(), Vec::new());
        ring.each(2, 4, read(&[1, 2, 0, 0]), &mut taken).unwrap();
        ring.each(5, 4, read(&[5, 2, 3, 4]), &mut taken).unwrap();
        ring.each(5, 4, read(&[5, 2, 3, 4]), &mut taken).unwrap();
        assert_eq!((taken, ring.lost), (vec![1, 2, 3, 4, 5], 0));
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let (mut ring, mut taken) = (Ring::default(), Vec::new());
        ring.each(9, 4, read(&[9, 6, 7, 8]), &mut taken).unwrap();
        assert_eq!((&taken[..], ring.lost), (&[6, 7, 8, 9][..], 5));
        // The slot was taken again meanwhile.
        ring.each(11, 4, read(&[9, 14, 11, 8]), &mut taken).unwrap();
        assert_eq!((&taken[4..], ring.lost), (&[11][..], 6));
    }

    #[test]
    fn a_record_that_is_being_written_is_waited_for_and_then_given_up() {
        let (mut ring, mut taken) = (Ring::default(), Vec::new());
        for _ in 0..PATIENCE {
            ring.each(2, 4, read(&[0, 2, 0, 0]), &mut taken).unwrap();
            assert_eq!((taken.len(), ring.lost), (0, 0));
        }
        ring.each(2, 4, read(&[0, 2, 0, 0]), &mut taken).unwrap();
        assert_eq!((&taken[..], ring.lost), (&[2][..], 1));
    }

    #[test]
    fn wild_counts_end() {
        let (mut ring, mut taken) = (Ring::default(), Vec::new());
        for written in [u64::MAX, 0, u64::MAX] {
            ring.each(written, 4, read(&[0, 1, u64::MAX, 7]), &mut taken).unwrap();
        }
        assert!(taken.len() < 10);
    }
}
