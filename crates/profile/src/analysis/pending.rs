//! Waits that had not ended when the recording ended. The recorder counts a wait when it ends, so they are in none of
//! its sums, and a deadlock would not be a wait at all.

use super::sites::Sites;
use super::sleeps::Sleeps;
use crate::figures::listed;
use crate::model::Profile;
use std::collections::{HashMap, HashSet};
use turnwise_recording::reader::Recording;
use turnwise_recording::{Class, EpisodeCopy};

/// A wait that had not ended.
pub(super) struct Wait {
    pub(super) episode: EpisodeCopy,
    pub(super) entry: usize,
    /// Ticks from its beginning to the end of the recording.
    pub(super) ticks: u64,
}

/// All waits that had not ended.
pub(super) struct Pending {
    pub(super) waits: Vec<Wait>,
    /// Indices in `waits`, by entry.
    by_entry: HashMap<usize, Vec<usize>>,
    /// Ticks from the beginning of the recording to its end.
    pub(super) ticks: u64,
    /// Threads that waited for the end of another.
    pub(super) joining: HashSet<u32>,
}

impl Pending {
    /// Collects the waits for locks; `end`: ticks at the end of the recording. `sleeps`: those that are no pthread
    /// lock's; without, these are left out.
    pub(super) fn collect(recording: &Recording, end: u64, sleeps: Option<&Sleeps>) -> Pending {
        let ticks = end.saturating_sub(recording.header.ticks_start);
        let open = recording.episodes.iter().filter(|episode| episode.acquired == 0 && episode.began != 0);
        let mut joining = HashSet::new();
        let waits = open.filter_map(|episode| {
            let entry = recording.entry_at(episode.entry)?;
            let class = recording.locks.get(recording.entries[entry].lock as usize)?.class;
            if class == Class::Thread as u32 {
                joining.insert(episode.thread);
            }
            match sleeps {
                Some(sleeps) => _ = sleeps.lock_and_site(recording, entry)?,
                None if Class::is_slept_on(class) => return None,
                None => (),
            }
            Some(Wait { episode: episode.clone(), entry, ticks: end.saturating_sub(episode.began) })
        });
        let waits: Vec<Wait> = waits.collect();
        let mut by_entry: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, wait) in waits.iter().enumerate() {
            by_entry.entry(wait.entry).or_default().push(index);
        }
        Pending { waits, by_entry, ticks, joining }
    }

    pub(super) fn of_entry(&self, entry: usize) -> impl Iterator<Item = &Wait> {
        self.by_entry.get(&entry).into_iter().flatten().map(|index| &self.waits[*index])
    }

    pub(super) fn of_thread(&self, thread: usize) -> impl Iterator<Item = &Wait> {
        self.waits.iter().filter(move |wait| wait.episode.thread as usize == thread)
    }

    /// Returns a remark about them; `None`: there are none.
    pub(super) fn remark(&self, sites: &Sites, profile: &Profile) -> Option<String> {
        const SHOWN: usize = 4;
        let mut waits: Vec<&Wait> = self.waits.iter().collect();
        waits.sort_by_key(|wait| (wait.episode.began, wait.episode.thread));
        let thread = |index: u32| self::thread(profile, index);
        let reported = waits.iter().map(|wait| {
            let lock = sites.lock_of_entry(wait.entry);
            let name = lock.map_or("a lock", |id| profile.locks[id as usize].name.as_str());
            let holder = wait.episode.holder.checked_sub(1).map(|holder| format!(", held by {}", thread(holder)));
            format!("{} for {name}{}", thread(wait.episode.thread), holder.unwrap_or_default())
        });
        let reported = listed(reported, SHOWN, "; ");
        let what = match waits.len() {
            0 => return None,
            1 => "a thread still waited at the end".to_owned(),
            more => format!("{more} threads still waited at the end"),
        };
        let circle = if profile.deadlocks.is_empty() { "" } else { ", some for one another, as in a deadlock" };
        Some(format!("{what}{circle}: {reported}"))
    }
}

/// Formats a thread by name and number.
pub(super) fn thread(profile: &Profile, index: u32) -> String {
    let thread = profile.threads.get(index as usize);
    thread.map_or_else(|| "a thread".to_owned(), |thread| format!("{} {}", thread.name, thread.tid))
}
