//! The tracks: a process, its threads with what they wait for and hold, its busy locks with holders and waiters.

use super::message::{Counter, Process, Thread, TrackDescriptor};
use super::{LOCKS_WITH_TRACKS, names};
use crate::model::{LockId, Profile, ThreadId};
use std::collections::HashMap;

const PROCESS: u64 = 1;

/// The tracks that overlapping slices need, since those of one track must nest: by the end of the last slice on each.
#[derive(Default)]
struct Lanes {
    ends: Vec<u64>,
}

impl Lanes {
    /// Returns the first lane that is free from `begin`; slices come in order of their begins.
    fn place(&mut self, begin: u64, end: u64) -> usize {
        let free = self.ends.iter().position(|&taken| taken <= begin);
        let lane = free.unwrap_or(self.ends.len());
        match self.ends.get_mut(lane) {
            Some(taken) => *taken = end,
            None => self.ends.push(end),
        }
        lane
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    /// The thread's own track, which has its first lane of waits.
    Thread(ThreadId),
    Waits(ThreadId, usize),
    Holds(ThreadId, usize),
    Lock(LockId),
    Holders(LockId, usize),
    Waiters(LockId),
}

pub(super) struct Tracks<'a> {
    profile: &'a Profile,
    known: HashMap<Of, u64>,
    /// The lanes by their first track.
    lanes: HashMap<Of, Lanes>,
    pub(super) descriptors: Vec<TrackDescriptor>,
}

impl<'a> Tracks<'a> {
    pub(super) fn new(profile: &'a Profile) -> Tracks<'a> {
        let program = &profile.program;
        let name = program.command.first().map_or("program", |command| names::base(command));
        let process = Process {
            pid: Some(program.pid as i32),
            cmdline: program.command.clone(),
            process_name: Some(name.to_owned()),
        };
        let process = TrackDescriptor { uuid: Some(PROCESS), process: Some(process), ..TrackDescriptor::default() };
        let (known, lanes) = (HashMap::new(), HashMap::new());
        let mut tracks = Tracks { profile, known, lanes, descriptors: vec![process] };
        for thread in 0..profile.threads.len() {
            tracks.track(Of::Thread(thread as ThreadId));
        }
        tracks
    }

    /// Returns the track of a wait; waits come in order of their begins.
    pub(super) fn wait(&mut self, thread: ThreadId, begin: u64, end: u64) -> u64 {
        self.lane(|lane| if lane == 0 { Of::Thread(thread) } else { Of::Waits(thread, lane) }, begin, end)
    }

    /// Returns the track of a hold; holds come in order of their begins.
    pub(super) fn hold(&mut self, thread: ThreadId, begin: u64, end: u64) -> u64 {
        self.lane(|lane| Of::Holds(thread, lane), begin, end)
    }

    /// Returns the track of a hold on its lock's side; `None`: the lock has none.
    pub(super) fn holder(&mut self, lock: LockId, begin: u64, end: u64) -> Option<u64> {
        ((lock as usize) < LOCKS_WITH_TRACKS).then(|| self.lane(|lane| Of::Holders(lock, lane), begin, end))
    }

    fn lane(&mut self, of: impl Fn(usize) -> Of, begin: u64, end: u64) -> u64 {
        let lane = self.lanes.entry(of(0)).or_default().place(begin, end);
        self.track(of(lane))
    }

    /// Returns the counter of waiters; `None`: the lock has none.
    pub(super) fn waiters(&mut self, lock: LockId) -> Option<u64> {
        ((lock as usize) < LOCKS_WITH_TRACKS).then(|| self.track(Of::Waiters(lock)))
    }

    fn track(&mut self, of: Of) -> u64 {
        if let Some(&known) = self.known.get(&of) {
            return known;
        }
        let parent = match of {
            Of::Thread(_) | Of::Lock(_) => PROCESS,
            Of::Waits(thread, _) | Of::Holds(thread, _) => self.track(Of::Thread(thread)),
            Of::Holders(lock, _) | Of::Waiters(lock) => self.track(Of::Lock(lock)),
        };
        let uuid = PROCESS + self.descriptors.len() as u64;
        self.known.insert(of, uuid);
        let name = self.name(of);
        let mut descriptor =
            TrackDescriptor { uuid: Some(uuid), parent_uuid: Some(parent), name, ..TrackDescriptor::default() };
        match of {
            Of::Thread(thread) => descriptor.thread = Some(self.thread(thread)),
            Of::Waiters(_) => descriptor.counter = Some(Counter { unit_name: Some("threads".to_owned()) }),
            _ => {}
        }
        self.descriptors.push(descriptor);
        uuid
    }

    fn name(&self, of: Of) -> Option<String> {
        let name = match of {
            Of::Thread(_) => return None,
            Of::Waits(_, lane) => format!("waits {}", lane + 1),
            Of::Holds(_, 0) => "holds".to_owned(),
            Of::Holds(_, lane) => format!("holds {}", lane + 1),
            Of::Lock(lock) => {
                let lock = &self.profile.locks[lock as usize];
                let kind = Some(lock.kind.name()).filter(|kind| !kind.ends_with("mutex")).unwrap_or("mutex");
                format!("{kind} {} {:#x}", names::cut(&lock.name), lock.address)
            }
            Of::Holders(_, 0) => "held by".to_owned(),
            Of::Holders(_, lane) => format!("held by {}", lane + 1),
            Of::Waiters(_) => "waiters".to_owned(),
        };
        Some(name)
    }

    fn thread(&self, thread: ThreadId) -> Thread {
        let pid = Some(self.profile.program.pid as i32);
        let thread = &self.profile.threads[thread as usize];
        Thread { pid, tid: Some(i64::from(thread.tid)), thread_name: Some(thread.name.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_apart() {
        let mut lanes = Lanes::default();
        let placed = [(0, 10), (5, 15), (10, 12), (11, 20), (12, 13)].map(|(begin, end)| lanes.place(begin, end));
        assert_eq!(placed, [0, 1, 0, 2, 0]);
    }
}
