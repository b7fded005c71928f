//! Perfetto's trace format: the waits and holds of each thread as slices, the holders of each busy lock as slices and
//! its waiters as a counter, and an arrow from a release to the acquisition that it let through.
//!
//! These are the waits that were kept individually, with the holds that followed them.

mod events;
mod message;
mod tracks;

use super::names;
use crate::model::Profile;
use anyhow::Result;
use events::Event;
use message::{InternedData, Name, Packet, Text, Trace};
use prost::Message;
use std::io::Write;
use tracks::Tracks;

/// The number of locks that have tracks, those with the longest waits: more could not be viewed.
const LOCKS_WITH_TRACKS: usize = 48;
/// Any number but 0: there is one writer.
const SEQUENCE: u32 = 1;
/// Sequence flag: names of earlier packets are forgotten.
const CLEARED: u32 = 1;
/// Sequence flag: this packet uses names of earlier ones.
const NEEDED: u32 = 2;

/// Numbers of the annotations' names.
const SITE: u64 = 1;
const HOLDER: u64 = 2;
const HOLDER_SITE: u64 = 3;
const ANNOTATIONS: [(u64, &str); 3] = [(SITE, "call site"), (HOLDER, "held by"), (HOLDER_SITE, "holder's call site")];

/// The numbers of texts: events' names are `wait`, `hold` and the thread of each lock and thread, two and one apiece.
struct Iids {
    locks: u64,
    threads: u64,
}

impl Iids {
    fn wait(lock: u32) -> u64 {
        1 + 2 * u64::from(lock)
    }

    fn hold(lock: u32) -> u64 {
        2 + 2 * u64::from(lock)
    }

    /// Returns a thread's number as the name of a slice on a lock's track.
    fn thread(&self, thread: u32) -> u64 {
        1 + 2 * self.locks + u64::from(thread)
    }

    /// Returns a thread's number as the value of an annotation.
    fn thread_value(thread: u32) -> u64 {
        1 + u64::from(thread)
    }

    fn site_value(&self, site: u32) -> u64 {
        1 + self.threads + u64::from(site)
    }
}

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    let iids = Iids { locks: profile.locks.len() as u64, threads: profile.threads.len() as u64 };
    let first = Packet { sequence_flags: Some(CLEARED), interned_data: Some(interned(profile)), ..Packet::default() };
    put(to, first)?;
    let mut tracks = Tracks::new(profile);
    let events = events::all(profile, &iids, &mut tracks);
    for descriptor in tracks.descriptors {
        put(to, Packet { track_descriptor: Some(descriptor), ..Packet::default() })?;
    }
    for Event { at, event, .. } in events {
        put(to, Packet { timestamp: Some(at), track_event: Some(event), ..Packet::default() })?;
    }
    Ok(())
}

fn put(to: &mut dyn Write, mut packet: Packet) -> Result<()> {
    packet.trusted_packet_sequence_id = Some(SEQUENCE);
    packet.sequence_flags.get_or_insert(NEEDED);
    to.write_all(&Trace { packet: vec![packet] }.encode_to_vec())?;
    Ok(())
}

/// Collects all texts, each once.
fn interned(profile: &Profile) -> InternedData {
    let locks = profile.locks.iter().map(|lock| names::cut(&lock.name));
    let events = locks.flat_map(|lock| [format!("wait for {lock}"), format!("hold {lock}")]);
    let threads = profile.threads.iter().map(|thread| format!("{} {}", names::cut(&thread.name), thread.tid));
    let sites = profile.sites.iter().map(|site| names::site(profile, site));
    let text = |(number, text): (usize, String)| Text { iid: Some(number as u64 + 1), str: Some(text.into_bytes()) };
    let name = |(iid, name): (u64, String)| Name { iid: Some(iid), name: Some(name) };
    InternedData {
        event_names: (1..).zip(events.chain(threads.clone())).map(name).collect(),
        debug_annotation_names: ANNOTATIONS.map(|(iid, text)| name((iid, text.to_owned()))).to_vec(),
        debug_annotation_string_values: threads.chain(sites).enumerate().map(text).collect(),
    }
}
