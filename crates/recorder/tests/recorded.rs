//! Programs with known lock operations: the recording must contain exactly those.

mod asleep;
mod exports;
mod harness;
mod inside;
mod journal;
mod limits;
mod orders;
mod plugins;
mod stacks;

use harness::{Run, cycles, function, library, lock, profile, shared_object};
use std::os::unix::process::ExitStatusExt;
use turnwise_preload_abi::libraries;
use turnwise_profile::model::{LockKind, Profile};
use turnwise_recording::reader::{Error, Recording};
use turnwise_recording::{STEP_ACQUIRE, STEP_BEGIN, STEP_END, STEP_RELEASE};

#[test]
fn every_acquisition_is_counted() {
    let profile = Run::of("count").profile();
    let first = lock(&profile, "first");
    assert_eq!((first.usage.acquisitions, first.kind), (5000, LockKind::Mutex));
    let second = lock(&profile, "second");
    assert_eq!((second.usage.acquisitions, second.usage.failed), (1, 7));
    let spin = lock(&profile, "spin");
    assert_eq!((spin.usage.acquisitions, spin.kind), (10, LockKind::SpinLock));
    let made: Vec<_> = profile.locks.iter().filter(|lock| lock.name.starts_with("made in count")).collect();
    let mut counts: Vec<_> = made.iter().map(|lock| (lock.usage.acquisitions, lock.kind)).collect();
    counts.sort_by_key(|(acquisitions, _)| *acquisitions);
    assert_eq!(counts, [(2, LockKind::RecursiveMutex), (3, LockKind::Mutex)]);
    assert_eq!(profile.threads.len(), 5);
    let by_threads: u64 = profile.threads.iter().map(|thread| thread.usage.acquisitions).sum();
    assert_eq!(by_threads, 5000 + 1 + 10 + 2 + 3);
    assert_eq!(profile.recording.acquisitions_unattributed, 0);
}

#[test]
fn the_holder_is_named() {
    let profile = Run::of("holder").profile();
    let first = lock(&profile, "first");
    assert_eq!(first.usage.contended, 1);
    assert!((50_000_000..5_000_000_000).contains(&first.usage.wait.sum_ns), "{:?}", first.usage.wait);
    assert!(first.usage.hold.max_ns > 90_000_000, "{:?}", first.usage.hold);
    let pair = profile.blocked.first().expect("a pair");
    let site = |id: u32| &profile.sites[id as usize];
    assert_eq!(function(&profile, site(pair.waiter)), "waiter");
    assert_eq!(function(&profile, site(pair.holder)), "long_holder");
    let frame = &profile.frames[site(pair.waiter).frames[0] as usize];
    assert!(frame.file.as_ref().is_some_and(|file| file.ends_with("truth.c")) && frame.line.is_some(), "{frame:?}");
    let episode = profile.episodes.first().expect("an episode");
    let (holder, _) = episode.holder.expect("a holder");
    assert_eq!(profile.threads[holder as usize].name, "holder");
    assert!(episode.acquired && episode.released_ns.is_some());
    assert_stack_of_first_wait(&profile);
    let waits: u64 = first.over_time.iter().map(|step| step.wait_ns).sum();
    assert!(waits > 50_000_000, "{:?}", first.over_time);
}

#[test]
fn a_holder_that_sleeps_is_distinguished_from_one_that_computes() {
    let is_reported = || {
        let profile = Run::alone("away").profile();
        let looks = |name: &str| {
            let place = profile.locks.iter().position(|lock| lock.name == name).expect("the lock") as u32;
            let pairs = profile.blocked.iter().filter(|pair| profile.sites[pair.holder as usize].lock == place);
            pairs.fold((0, 0), |sum, pair| (sum.0 + pair.looked, sum.1 + pair.holder_off_cpu.unwrap_or(0)))
        };
        let [(asleep, off), (at_work, away)] = ["first", "second"].map(looks);
        println!("asleep in {off} of {asleep}, off its CPU at work in {away} of {at_work}");
        asleep > 0 && off * 10 >= asleep * 9 && away < at_work
    };
    // On an overloaded machine a computing thread is off its CPU most of the time, and the sleep is over before the
    // wait begins.
    assert!((0..10).any(|_| is_reported()), "one that sleeps was never distinguished from one that computes");
}

#[track_caller]
fn assert_stack_of_first_wait(profile: &Profile) {
    let stack = profile.episodes.first().expect("an episode").stack.expect("the first wait has its stack");
    let frames = &profile.stacks[stack as usize];
    let functions: Vec<_> = frames.iter().map(|frame| profile.frames[*frame as usize].function.as_str()).collect();
    assert!(functions.starts_with(&["waiter", "holder", "main"]), "{functions:?}");
}

#[test]
fn stacks_are_taken_whatever_unwinder_the_program_loads() {
    let profile = Run::program("truth", "holder", &[shared_object("unwinder")], &[]).profile();
    assert_stack_of_first_wait(&profile);
}

#[test]
fn stacks_are_taken_though_another_constructor_took_a_lock_before() {
    let profile = Run::program("truth", "holder", &[shared_object("early")], &[]).profile();
    assert_eq!(lock(&profile, "early").usage.acquisitions, 1);
    assert_stack_of_first_wait(&profile);
}

#[test]
fn an_allocator_that_tries_its_lock_allocates_in_a_constructor_before() {
    let run = Run::program("truth", "holder", &[shared_object("trying_allocator")], &[]);
    assert!(run.status.success(), "{}", run.status);
    assert!(lock(&run.profile(), "tried").usage.acquisitions > 1);
}

#[test]
fn libraries_that_were_loaded_from_the_working_directory_have_names() {
    let up = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect::<std::path::PathBuf>();
    let relative = up.join(shared_object("early").strip_prefix("/").unwrap());
    let profile = Run::program("truth", "nothing", &[relative], &[]).profile();
    assert_eq!(lock(&profile, "early").usage.acquisitions, 1);
}

#[test]
fn waits_that_were_given_up_are_waits() {
    // A thread that stalls before its call has less of its 20 ms left to wait.
    let waited = |profile: &Profile| {
        let usage = &lock(profile, "first").usage;
        assert_eq!((usage.acquisitions, usage.contended, usage.failed, usage.wait.count), (1, 0, 3, 3));
        (45_000_000..5_000_000_000).contains(&usage.wait.sum_ns)
    };
    let profile = (0..20).map(|_| Run::of("given_up").profile()).find(waited).expect("waits of 20 ms");
    let usage = &lock(&profile, "first").usage;
    let of_threads: u64 = profile.threads.iter().map(|thread| thread.usage.wait.sum_ns).sum();
    assert_eq!(of_threads, usage.wait.sum_ns);
    let pair = profile.blocked.first().expect("a pair");
    assert_eq!(function(&profile, &profile.sites[pair.holder as usize]), "given_up");
    assert_eq!(pair.waits, 3);
}

#[test]
fn waits_that_never_end_are_waits() {
    let profile = Run::of("deadlock").profile();
    for name in ["first", "second"] {
        let wait = &lock(&profile, name).usage.wait;
        assert!(wait.count == 1 && wait.sum_ns >= 90_000_000, "{name}: {wait:?}");
    }
    assert_eq!(profile.blocked.len(), 2, "each blocks the other");
    let waited = profile.threads.iter().filter(|thread| thread.usage.wait.sum_ns >= 90_000_000);
    assert_eq!(waited.count(), 2);
    let remark = profile.recording.remarks.first().expect("a remark");
    assert!(
        remark.starts_with("2 threads still waited at the end, some for one another, as in a deadlock"),
        "{remark}"
    );
}

#[test]
fn inversions_are_found() {
    let profile = Run::of("inversion").profile();
    assert_eq!(cycles(&profile), ["first second"]);
    let steps = &profile.cycles[0].steps;
    let place = |site: u32| function(&profile, &profile.sites[site as usize]);
    let mut places: Vec<_> = steps.iter().map(|step| (place(step.held_at), place(step.taken_at))).collect();
    places.sort_unstable();
    assert_eq!(places, [("one_way", "one_way"), ("other_way", "other_way")]);
    assert_ne!(steps[0].threads, steps[1].threads);
}

#[test]
fn orders_that_are_seen_again_and_again_leave_room_for_new_ones() {
    assert_eq!(cycles(&Run::of("orders").profile()), ["first second"]);
}

#[test]
fn a_thread_that_goes_on_with_anothers_entries_has_orders_of_its_own() {
    // Both orders by only one thread would not count.
    assert_eq!(cycles(&Run::of("heir").profile()), ["first second"]);
}

#[test]
fn locks_under_one_another_are_counted_and_their_order_is_known() {
    let profile = Run::of("under").profile();
    let counts = ["first", "second", "place"].map(|name| lock(&profile, name).usage.acquisitions);
    assert_eq!(counts, [2010, 2010, 3001]);
    let array = profile.locks.iter().filter(|lock| lock.name.starts_with("array"));
    assert_eq!(array.map(|lock| lock.usage.acquisitions).collect::<Vec<_>>(), [10; 40]);
    // Only blocking acquisitions count: `backwards` tries `second`.
    assert_eq!(cycles(&profile), ["first place"]);
}

#[test]
fn stretches_keep_the_order_of_acquisitions_and_change_no_count() {
    let run = Run::in_order("under");
    let profile = run.profile();
    let counts = ["first", "second", "place"].map(|name| lock(&profile, name).usage.acquisitions);
    assert_eq!(counts, [2010, 2010, 3001]);
    let recording = Recording::read(&run.file()).expect("a recording");
    let address_of = |name: &str| lock(&profile, name).address;
    let [first, second, place] = ["first", "second", "place"].map(address_of);
    let mut held: Vec<u64> = Vec::new();
    let (mut outer, mut inner, mut stretches) = (0, 0, 0);
    for step in recording.steps.iter().flat_map(|(_, steps)| steps) {
        let at =
            recording.entry_at(step.of).map(|entry| recording.locks[recording.entries[entry].lock as usize].address);
        match step.what {
            STEP_BEGIN => {
                assert!(held.is_empty(), "{held:x?}");
                stretches += 1;
            }
            STEP_ACQUIRE => {
                let at = at.expect("an entry");
                // `backwards` tries the second lock, and takes the first under the third.
                if at == second && held.last() == Some(&first) {
                    outer += 1;
                }
                if at == place && held.ends_with(&[first, second]) {
                    inner += 1;
                }
                // Of the 40 others under one another, the oldest are forgotten.
                held.extend([first, second, place].contains(&at).then_some(at));
            }
            STEP_RELEASE => {
                let place = held.iter().rposition(|held| Some(*held) == at);
                held.splice(place.map_or(0..0, |place| place..place + 1), []);
            }
            STEP_END => assert!(held.is_empty(), "{held:x?}"),
            _ => (),
        }
    }
    assert!(stretches > 0 && outer > 50 && inner > 50, "{stretches} {outer} {inner}");
    assert!(Recording::read(&Run::of("count").file()).expect("a recording").steps.is_empty(), "nobody asked for them");
}

#[test]
fn neighbours_on_a_cache_line_are_found() {
    let profile = Run::of("neighbours").profile();
    assert_eq!(profile.shared_lines.len(), 1);
    let names: Vec<_> =
        profile.shared_lines[0].locks.iter().map(|lock| profile.locks[*lock as usize].name.as_str()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"line") && names.contains(&"line+4"), "{names:?}");
}

#[test]
fn waits_that_found_nothing_are_counted() {
    let profile = Run::of("nothing").profile();
    let changed = profile.conditions.iter().find(|condition| condition.name == "changed").expect("the variable");
    assert_eq!((changed.signals, changed.timed_out), (4, 1));
    // Four waits and the one that timed out; POSIX also allows spurious wake-ups.
    assert!(changed.waits >= 5 && changed.woken_for_nothing >= 3, "{changed:?}");
    assert_eq!(changed.woken_for_nothing, changed.waits - 2);
    assert_eq!(profile.locks[changed.mutex.expect("a mutex") as usize].name, "first");
    let again: u64 = profile.sites.iter().filter(|site| site.after_wait).map(|site| site.usage.acquisitions).sum();
    assert_eq!(again, changed.waits);
}

#[test]
fn a_cancelled_wait_gives_the_mutex_back() {
    let profile = Run::of("cancel").profile();
    assert_eq!(lock(&profile, "first").usage.acquisitions, 3);
}

#[test]
fn readers_are_distinguished_from_writers() {
    let profile = Run::of("readers").profile();
    let usage = &lock(&profile, "table").usage;
    assert_eq!((usage.acquisitions, usage.reads, lock(&profile, "table").kind), (3, 2, LockKind::RwLock));
}

#[test]
fn a_lock_made_where_another_was_is_another() {
    let profile = Run::of("reuse").profile();
    let mut counts: Vec<_> = profile.locks.iter().map(|lock| (lock.usage.acquisitions, lock.name.as_str())).collect();
    counts.sort_unstable();
    assert_eq!(counts.iter().map(|(acquisitions, _)| *acquisitions).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(counts.iter().all(|(_, name)| name.split(" #").next() == Some("place")), "{counts:?}");
}

#[test]
fn nothing_is_lost_however_the_program_ends() {
    for (name, status, signal) in [("kill", None, Some(9)), ("abort", None, Some(6)), ("_exit", Some(3), None)] {
        let run = Run::of(name);
        // `timeout` ends by the signal that ended its program.
        assert_eq!((run.status.code(), run.status.signal()), (status, signal), "{name}");
        let profile = profile(&run.file());
        assert_eq!(lock(&profile, "first").usage.acquisitions, 1000, "{name}");
    }
}

#[test]
fn children_have_recordings_of_their_own() {
    let run = Run::of("fork");
    assert_eq!(lock(&run.profile(), "first").usage.acquisitions, 10);
    let others = run.others();
    assert_eq!(others.len(), 1, "{others:?}");
    assert_eq!(lock(&profile(&others[0]), "first").usage.acquisitions, 20);
}

#[test]
fn what_a_program_becomes_has_a_recording_of_its_own() {
    let run = Run::of("exec");
    assert_eq!(run.status.code(), Some(3));
    assert_eq!(lock(&profile(&run.file()), "first").usage.acquisitions, 1000);
    let others = run.others();
    assert_eq!(others.len(), 1, "{others:?}");
    assert_eq!(lock(&profile(&others[0]), "first").usage.acquisitions, 1000);
}

#[test]
fn signal_handlers_may_try_locks() {
    let profile = Run::of("handler").profile();
    let first = lock(&profile, "first").usage.acquisitions;
    let many: u64 =
        profile.locks.iter().filter(|lock| lock.name.starts_with("array")).map(|lock| lock.usage.acquisitions).sum();
    // A handler that comes between load and store of a counter may undo one step of it.
    assert!(first > 1000 && first.abs_diff(many) <= first / 1000, "{first}, {many}");
    assert!(lock(&profile, "second").usage.acquisitions > 10);
}

#[test]
fn a_million_mutexes() {
    let profile = Run::of("many").profile();
    let remark = profile.recording.remarks.iter().any(|remark| remark.contains("980000 locks with 980000 acq"));
    assert!(remark, "{:?}", profile.recording.remarks);
    assert_eq!(profile.recording.acquisitions_unattributed, 0);
}

#[test]
fn four_thousand_threads() {
    let run = Run::of("crowd");
    if run.status.code() == Some(77) {
        eprintln!("the system does not allow 4000 threads");
        return;
    }
    let profile = run.profile();
    let that_lock = profile.threads.iter().filter(|thread| thread.usage.acquisitions == 1);
    assert_eq!((that_lock.count(), profile.threads.len()), (4000, 4001), "the first one only joins the others");
    assert_eq!(lock(&profile, "first").usage.acquisitions, 4000);
}

#[test]
fn damaged_files_are_named_for_what_they_are() {
    let run = Run::of("count");
    let refused = |file: &std::path::Path| Recording::read(file).map(|_| ()).expect_err("it is damaged");
    let other = run.directory.path().join("other");
    std::fs::write(&other, "no recording at all").unwrap();
    assert!(matches!(refused(&other), Error::Foreign));
    turnwise_recording::writer::create(&other).unwrap();
    assert!(matches!(refused(&other), Error::Unused));
    std::fs::copy(std::env::current_exe().unwrap(), &other).unwrap();
    assert!(matches!(refused(&other), Error::Foreign));
    let file = std::fs::OpenOptions::new().write(true).open(run.file()).unwrap();
    file.set_len(100_000).unwrap();
    let error = refused(&run.file());
    assert!(matches!(error, Error::Truncated(100_000, _)), "{error}");
    assert!(error.to_string().contains("truncated"), "{error}");
    file.set_len(40).unwrap();
    assert!(matches!(refused(&run.file()), Error::Truncated(40, _)));
    assert!(library(libraries::RECORDER).is_file());
}
