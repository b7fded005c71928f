//! A Perfetto trace, decoded field by field: slices nest, counters are never negative, arrows have two ends.

use super::fixture;
use super::wire::{Field, fields};
use std::collections::BTreeMap;
use turnwise_profile::model::Profile;
use turnwise_profile::output::by_flag;

fn written(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    by_flag("perfetto").expect("there is Perfetto").write(profile, &mut bytes).expect("it can be written");
    bytes
}

fn number(parts: &[Field], field: u64) -> Option<u64> {
    parts.iter().find(|part| part.number == field).map(Field::value)
}

/// An event: time, type, track, name, counter's value, outgoing flows, incoming flows.
struct Event {
    at: u64,
    kind: u64,
    track: u64,
    name: Option<u64>,
    counter: Option<u64>,
    flows: [Vec<u64>; 2],
}

fn events(trace: &[u8]) -> Vec<Event> {
    let packets = fields(trace).into_iter().map(|packet| fields(packet.bytes()));
    let events = packets.filter_map(|packet| {
        let event = fields(packet.iter().find(|part| part.number == 11)?.bytes());
        let flows = [47, 48].map(|field| event.iter().filter(|f| f.number == field).map(Field::value).collect());
        Some(Event {
            at: number(&packet, 8).expect("a time"),
            kind: number(&event, 9).expect("a type"),
            track: number(&event, 11).expect("a track"),
            name: number(&event, 10),
            counter: number(&event, 30),
            flows,
        })
    });
    events.collect()
}

#[test]
fn slices_close_and_counters_come_back_to_nothing() {
    let profile = fixture::server();
    let events = events(&written(&profile));
    assert!(events.is_sorted_by_key(|event| event.at));
    let mut open: BTreeMap<u64, usize> = BTreeMap::new();
    let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
    let mut begins = 0;
    for event in &events {
        match event.kind {
            1 => {
                begins += 1;
                let open = open.entry(event.track).or_default();
                *open += 1;
                assert_eq!(*open, 1, "slices of a track do not overlap");
                assert!(event.name.is_some());
            }
            2 => *open.get_mut(&event.track).expect("it began") -= 1,
            4 => drop(waiting.insert(event.track, event.counter.expect("a value"))),
            kind => panic!("type {kind}"),
        }
    }
    assert!(open.values().all(|&open| open == 0));
    assert!(waiting.len() >= 3 && waiting.values().all(|&waiting| waiting == 0), "{waiting:?}");
    assert_eq!(begins, 3 * profile.episodes.len(), "wait, hold, and hold on the lock's side");
}

#[test]
fn releases_point_to_who_was_let_in() {
    let profile = fixture::server();
    let events = events(&written(&profile));
    let side = |side: usize| {
        let flows = events.iter().flat_map(|event| event.flows[side].iter().map(|&flow| (flow, event.at)));
        flows.collect::<BTreeMap<u64, u64>>()
    };
    let (out, into) = (side(0), side(1));
    assert!(into.len() * 2 > profile.episodes.len(), "most waiters were let in by one that had waited itself");
    assert!(into.keys().eq(out.keys()), "each arrow has both ends");
    assert!(into.iter().all(|(flow, at)| out[flow] < *at), "from earlier to later");
}

#[test]
fn tracks_name_threads_and_locks() {
    let trace = written(&fixture::server());
    let mut names = Vec::new();
    for packet in fields(&trace) {
        let packet = fields(packet.bytes());
        let Some(descriptor) = packet.iter().find(|part| part.number == 60) else { continue };
        for part in fields(descriptor.bytes()) {
            match part.number {
                2 => names.push(part.text().to_owned()),
                4 => names.extend(fields(part.bytes()).iter().filter(|f| f.number == 5).map(|f| f.text().to_owned())),
                _ => {}
            }
        }
    }
    for name in ["worker-3", "kvserver", "mutex cache_lock 0x555555758040", "held by", "waiters", "holds"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
}
