//! Workfiles and their jobs.

use turnwise_aim7::jobs::Step;
use turnwise_aim7::workfile::{Sizes, WORKFILES};
use turnwise_aim7::{JOBS, Job, Workfile};

#[test]
fn jobs_are_found_by_name() {
    assert!(JOBS.is_sorted_by_key(|job| job.name), "the search relies on it");
    for job in JOBS.iter() {
        assert_eq!(Job::find(job.name).map(|found| found.name), Some(job.name));
    }
    assert!(Job::find("add").is_none());
}

fn built_in(name: &str) -> Workfile {
    Workfile::load(name).unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn totals_and_jobs_are_aim7s() {
    let facts = [
        ("fserver", 595, 101),
        ("new_fserver", 580, 98),
        ("five_sec", 220, 99),
        ("high_systime", 260, 104),
        ("short", 340, 102),
        ("shared", 780, 97),
        ("alltests", 1000, 98),
        ("fork_test", 10, 100),
    ];
    assert_eq!(facts.len(), WORKFILES.len());
    for (name, total, jobs) in facts {
        let workfile = built_in(name);
        assert_eq!((workfile.total, workfile.jobs()), (total, jobs), "{name}");
    }
    assert_eq!(built_in("fork_test").sizes, Sizes { file_kib: 1024, pool_kib: 10 * 1024 });
    assert_eq!(built_in("fserver").sizes, Sizes::default());
}

/// Returns forks, execs, creates, links, unlinks, entries, breaks, faults, signals, paths, messages, semaphores, sleep.
fn requests(step: &Step) -> [u32; 13] {
    let mut row = [0; 13];
    let each: &[(usize, u32)] = match *step {
        Step::CreateClose { times } => &[(2, times), (4, 1)],
        Step::Links { links } => &[(2, 1), (3, links), (4, links + 1)],
        Step::Break { rounds } => &[(6, rounds * 17)],
        Step::Pages { breaks, faults } => &[(6, breaks), (7, faults)],
        Step::Fork { times } => &[(0, times)],
        Step::Script { times, forks, execs, .. } => &[(0, times * forks), (1, times * execs)],
        Step::Sleep { seconds } => &[(12, seconds)],
        Step::Signals { times } => &[(8, times)],
        Step::Entries { entries } => &[(5, entries)],
        Step::Identity { times } => &[(9, times)],
        Step::Messages { pairs, .. } => &[(10, pairs)],
        Step::Shared { operations } => &[(11, operations)],
        Step::Disk(_) => &[(2, 1), (4, 1)],
        Step::Sources { creates, .. } => &[(2, creates), (4, creates)],
    };
    each.iter().for_each(|&(column, count)| row[column] = count);
    row
}

#[test]
fn operations_per_user_are_those_of_the_facts() {
    #[rustfmt::skip]
    let facts = [
        ("fserver", [0, 0, 3246, 210, 459, 30_000, 0, 0, 2000, 30, 871, 0, 0]),
        ("five_sec", [0, 0, 441, 630, 1071, 90_000, 15_300, 14_400, 9000, 0, 0, 0, 0]),
        ("high_systime", [528, 128, 8008, 560, 576, 40_000, 149_600, 12_800, 4000, 40, 2732, 1600, 20]),
        ("short", [0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 2910, 2400, 0]),
        ("shared", [139, 39, 1148, 70, 219, 10_000, 18_700, 1600, 1000, 10, 485, 400, 0]),
    ];
    for (name, expected) in facts {
        let mut sum = [0; 13];
        for (job, load) in built_in(name).loads() {
            for step in &job.steps {
                sum.iter_mut().zip(requests(step)).for_each(|(sum, count)| *sum += load * count);
            }
        }
        assert_eq!(sum, expected, "{name}");
    }
    let blocks = |(job, load): (&Job, u32)| {
        let written = |step: &Step| match step {
            Step::Disk(disk) => disk.blocks(10) * (1 + u32::from(disk.rewrites)),
            _ => 0,
        };
        load * job.steps.iter().map(written).sum::<u32>()
    };
    assert_eq!(built_in("five_sec").loads().map(blocks).sum::<u32>(), 540, "KiB written");
    assert_eq!(built_in("fserver").sizes.of_a_file(1500), 10);
    assert_eq!(built_in("fserver").sizes.of_a_file(10), 112);
}

fn of(weights: &[(u32, &str)]) -> Workfile {
    Workfile::of(weights.iter().copied()).unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn of_two_weights_the_later_counts_but_the_total_has_both() {
    let twice = of(&[(20, "string_rtns"), (30, "sieve"), (30, "string_rtns")]);
    let loads: Vec<_> = twice.loads().map(|(job, load)| (job.name, load)).collect();
    assert_eq!((twice.total, loads), (80, vec![("string_rtns", 38), ("sieve", 38)]));
}

#[test]
fn a_job_that_is_there_is_run_at_least_once() {
    let rare = of(&[(1, "sieve"), (999, "add_int")]);
    assert_eq!((rare.jobs(), rare.sizes), (101, Sizes::default()));
}

#[test]
fn unknown_names_are_refused() {
    assert!(Workfile::of([(20, "creat_close")]).expect_err("there is none").to_string().contains("no job creat_close"));
    assert!(Workfile::load("fservr").expect_err("there is none").to_string().contains("no workfile fservr"));
}
