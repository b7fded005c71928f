//! Waits whose call site is a stack, and waits that are withdrawn: this process is the program and its reader.

use std::ffi::CString;
use std::fs;
use turnwise_live::layout::{CALLS, STACKS, stack_of_site};
use turnwise_live::writer::{self, Begun, End, Me, Start};
use turnwise_live::{Channel, Key, Kind};

const ME: Me = Me { generation: 0, events: [0; 3] };
const SITE: usize = 0x40_1234;
const WORD: usize = 0x7f00_0000_1000;

/// Returns what a wait at the end of a path of calls begins with; how many calls were taken to find its stack.
fn start(path: u64, calls: &[u64]) -> (Start, usize) {
    let mut taken = 0;
    let start = Start { key: Key::new(WORD, Kind::Futex), site: SITE, owner: 0, rule: 0, me: ME };
    let start = start.at_stack(path, |to| {
        taken = calls.len();
        to[..taken].copy_from_slice(calls);
        taken
    });
    (start, taken)
}

fn begin(start: &Start) -> Begun {
    writer::begin(start).expect("there is a view")
}

/// One test, since it is one view.
#[test]
fn a_path_has_one_stack_and_a_withdrawn_wait_is_none() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    writer::start(Some(&CString::new(folder.path().to_str().expect("UTF-8")).expect("a path")), false, 1);
    let calls = [SITE as u64, 0x40_2000, 0x40_3000];
    let (first, taken) = start(1, &calls);
    assert_eq!(taken, 3);
    let begun = begin(&first);
    let mut files = fs::read_dir(folder.path().join("turnwise")).expect("a folder");
    let channel = Channel::open(&files.next().expect("a view").expect("a file").path()).expect("a sound view");
    let look = || channel.snapshot().expect("a sound view");
    let waiting = look().threads[0].waiting.expect("it waits");
    assert_eq!((waiting.kind, waiting.lock, waiting.site), (Kind::Futex, WORD as u64, first.site as u64));
    assert_eq!(channel.calls(waiting.site), calls);
    writer::end(&begun, End::Acquired, &ME);

    let (again, taken) = start(1, &[]);
    assert_eq!((again.site, taken), (first.site, 0), "the path is known");
    writer::withdraw(&begin(&again), &ME);
    assert!(look().threads[0].waiting.is_none());
    let (other_path, taken) = start(2, &calls);
    assert_eq!((other_path.site, taken), (first.site, 3), "it leads to the same calls");
    let begun = begin(&other_path);
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!(writer::lasted_ns(&begun) >= 1_000_000);
    writer::end(&begun, End::GaveUp, &ME);
    let snapshot = look();
    let [word] = &snapshot.locks[..] else { panic!("{:?}", snapshot.locks) };
    assert_eq!((word.waits, word.gave_up, word.sites.len()), (2, 1, 1));

    assert_eq!(start(3, &[]).0.site, SITE, "no call was found");
    let sites = (0..STACKS as u64 + 10).map(|path| start(100 + path, &[SITE as u64, path]).0.site as u64);
    let stacks: Vec<usize> = sites.filter_map(stack_of_site).collect();
    assert_eq!(stacks, (1..STACKS).collect::<Vec<_>>(), "there is no room for more");
    assert_eq!(channel.calls(first.site as u64), calls);
    assert!(channel.calls(u64::MAX).is_empty() && CALLS >= calls.len());
    assert_eq!(channel.calls(7), [7]);
}
