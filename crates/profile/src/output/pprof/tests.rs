use super::*;
use crate::model::{self, Frame, Lock, StackUsage, Usage};

#[test]
fn inlined_frames_share_a_location() {
    let frame = |function: &str, inlined| Frame { function: function.to_owned(), inlined, ..Frame::default() };
    let wait = model::Distribution { count: 3, sum_ns: 900, ..model::Distribution::default() };
    let usage = Usage { acquisitions: 9, contended: 3, wait, hold_total_ns: 50, ..Usage::default() };
    let stacks = vec![StackUsage { stack: 0, waits: 3, wait_ns: 900 }];
    let profile = model::Profile {
        frames: vec![frame("inner", true), frame("outer", false), frame("main", false)],
        stacks: vec![vec![0, 1, 2]],
        locks: vec![Lock { name: "a lock".to_owned(), ..Lock::default() }],
        sites: vec![Site { frames: vec![0, 1], usage, stacks, ..Site::default() }],
        ..model::Profile::default()
    };
    let message = converted(&profile);
    assert_eq!(message.sample[0].location_id, [1, 2]);
    assert_eq!(message.sample[0].value, [3, 900, 0, 0]);
    assert_eq!(message.sample[1].location_id, [1], "the site's own");
    assert_eq!(message.sample[1].value, [0, 0, 9, 50]);
    let lines: Vec<usize> = message.location.iter().map(|location| location.line.len()).collect();
    assert_eq!(lines, [2, 1]);
    let text = |place: i64| message.string_table[place as usize].as_str();
    let names: Vec<&str> = message.function.iter().map(|function| text(function.name)).collect();
    assert_eq!(names, ["inner", "outer", "main"]);
    assert_eq!(text(message.sample[0].label[0].str), "a lock");
    assert_eq!(message.string_table[0], "");
}
