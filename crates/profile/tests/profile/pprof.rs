//! pprof's format, decoded field by field, without the messages that wrote it.

use super::fixture;
use super::wire::{Field, fields};
use std::io::Read;
use turnwise_profile::model::Profile;
use turnwise_profile::output::by_flag;

fn written(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    by_flag("pprof").expect("there is pprof").write(profile, &mut bytes).expect("it can be written");
    bytes
}

fn message(profile: &Profile) -> Vec<u8> {
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(written(profile).as_slice()).read_to_end(&mut message).expect("it is gzip");
    message
}

#[test]
fn the_message_has_all_contention_and_hold_time() {
    let profile = fixture::server();
    let message = message(&profile);
    let all = fields(&message);
    let strings: Vec<&str> = all.iter().filter(|field| field.number == 6).map(Field::text).collect();
    assert_eq!(strings[0], "");
    let types: Vec<[&str; 2]> = all
        .iter()
        .filter(|field| field.number == 1)
        .map(|kind| {
            let parts = fields(kind.bytes());
            [0, 1].map(|part| strings[parts[part].value() as usize])
        })
        .collect();
    assert_eq!(types[..2], [["contentions", "count"], ["delay", "nanoseconds"]]);
    let mut sums = [0; 4];
    for sample in all.iter().filter(|field| field.number == 2) {
        let parts = fields(sample.bytes());
        let values = parts.iter().find(|part| part.number == 2).expect("values").packed();
        assert_eq!(values.len(), 4);
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    let total = |of: fn(&turnwise_profile::model::Usage) -> u64| profile.locks.iter().map(|lock| of(&lock.usage)).sum();
    let expected: [u64; 4] = [
        total(|usage| usage.contended),
        total(|usage| usage.wait.sum_ns),
        total(|usage| usage.acquisitions),
        total(|usage| usage.hold_total_ns),
    ];
    assert_eq!(sums, expected);
    for name in ["cache_lock", "Shard::find(Key const&)", "/src/kvserver/shard.h", "kvserver", "read"] {
        assert!(strings.contains(&name), "{name}: {strings:?}");
    }
}

#[test]
fn the_program_is_the_first_mapping() {
    let mut profile = fixture::server();
    profile.frames[0].module = "libc.so.6".to_owned();
    let message = message(&profile);
    let all = fields(&message);
    let strings: Vec<&str> = all.iter().filter(|field| field.number == 6).map(Field::text).collect();
    let mapping = fields(all.iter().find(|field| field.number == 3).expect("there is one").bytes());
    let file = mapping.iter().find(|part| part.number == 5).expect("it has a file");
    assert_eq!(strings[file.value() as usize], "kvserver");
}
