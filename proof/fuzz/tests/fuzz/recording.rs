//! Recordings, which `turnwise profile --from` and `turnwise-lab sim --record` read: damaged, cut short, or made up.

use crate::profile::show;
use crate::sparse::Sparse;
use turnwise_fuzz::check;
use turnwise_profile::analysis::{analyse, waited};
use turnwise_recording::FILE_BYTES;
use turnwise_recording::reader::Recording;

fn read(input: &[u8]) -> Option<Recording> {
    Recording::read(&Sparse::new(FILE_BYTES, input).path()).ok()
}

#[test]
fn fuzz_recording() {
    check("recording", 1500, Vec::new(), |input| {
        let Some(recording) = read(input) else { return };
        std::hint::black_box(waited(&recording));
        if let Ok(profile) = analyse(&recording) {
            show(&profile);
        }
    });
}

#[test]
fn the_corpus_has_sound_recordings() {
    let sound = include_bytes!("../../corpus/recording/two-threads");
    let profile = analyse(&read(sound).expect("it is one")).expect("it is sound");
    assert_eq!((profile.threads.len(), profile.locks.len()), (3, 2));
    assert!(profile.sites.iter().any(|site| !site.stacks.is_empty()), "its stacks are there");
}

/// A file of three pages said that it has a chunk of 4 GB, full of entries.
#[test]
fn a_chunk_of_gigabytes_that_are_not_there_is_empty() {
    let recording = read(include_bytes!("../../corpus/recording/long-chunk-of-nothing"));
    let few = |recording: Recording| recording.entries.len() < 1000 && recording.threads.len() < 10;
    assert!(recording.is_none_or(few));
}
