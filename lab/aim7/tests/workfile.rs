//! Workfiles and their jobs.

use turnwise_aim7::workfile::{BUILT_IN, Sizes};
use turnwise_aim7::{JOBS, Job, Operations, Workfile};

#[test]
fn jobs_are_found_by_name() {
    assert!(JOBS.is_sorted_by_key(|job| job.name), "the search relies on it");
    for job in JOBS.iter() {
        assert_eq!(Job::find(job.name).map(|found| found.name), Some(job.name));
    }
    assert!(Job::find("add").is_none());
}

#[test]
fn a_misspelt_name_is_recognised() {
    let meant = |name| Job::nearest(name).map(|job| job.name);
    assert_eq!(meant("creat_close"), Some("creat_clo"));
    assert_eq!(meant("sync_disk_wr"), Some("sync_disk_wrt"));
    assert_eq!(meant("zzz"), None);
}

fn built_in(name: &str) -> Workfile {
    Workfile::load(name).unwrap_or_else(|fault| panic!("{fault}"))
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
    assert_eq!(facts.len(), BUILT_IN.len());
    for (name, total, jobs) in facts {
        let workfile = built_in(name);
        assert_eq!((workfile.total, workfile.jobs()), (total, jobs), "{name}");
    }
    assert_eq!(built_in("fork_test").sizes, Sizes { file_kib: 1024, pool_kib: 10 * 1024 });
    assert_eq!(built_in("fserver").sizes, Sizes::default());
}

/// Returns forks, execs, creates, links, unlinks, entries, breaks, faults, signals, paths, messages, semaphores, sleep.
fn row(of: Operations) -> [u64; 13] {
    [
        of.forks,
        of.execs,
        of.creates,
        of.links,
        of.unlinks,
        of.entries,
        of.breaks,
        of.faults,
        of.signals,
        of.paths,
        of.messages,
        of.semaphores,
        of.sleeps_s,
    ]
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
        assert_eq!(row(built_in(name).operations(1500)), expected, "{name}");
    }
    assert_eq!(built_in("five_sec").operations(1500).written_kib, 540);
    assert_eq!(built_in("fserver").sizes.of_a_file(1500), 10);
    assert_eq!(built_in("fserver").sizes.of_a_file(10), 112);
}

#[test]
fn of_two_weights_the_later_counts_but_the_total_has_both() {
    let twice = Workfile::parse("w", "20 string_rtns\n30 sieve\n30 string_rtns\n").expect("it is a workfile");
    let loads: Vec<_> = twice.loads().map(|(job, load)| (job.name, load)).collect();
    assert_eq!((twice.total, loads), (80, vec![("string_rtns", 38), ("sieve", 38)]));
}

#[test]
fn sizes_comments_and_blanks_are_read() {
    let text = "# mine\n\n FILESIZE 2M\npoolsize: 1g # all\nFILESIZE:3k\n\t5\tsieve # no more\n1 sieve";
    let workfile = Workfile::parse("w", text).expect("it is a workfile");
    assert_eq!(workfile.sizes, Sizes { file_kib: 3, pool_kib: 1 << 20 });
    assert_eq!(workfile.loads().map(|(job, load)| (job.name, load)).collect::<Vec<_>>(), [("sieve", 17)]);
    let rare = Workfile::parse("w", "1 sieve\n999 add_int").expect("it is a workfile");
    assert_eq!(rare.jobs(), 101, "a job that is there is run at least once");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        ("20 creat_close", "w:1:4: no job `creat_close`: did you mean `creat_clo`?"),
        ("\n  20 \u{e4}\u{e4} xyz", "w:2:6: no job `ää`: `turnwise-lab aim7 --list`"),
        ("20", "w:1:3: weight 20 has no job: write `20 creat_clo`"),
        ("1 sieve\n0 sieve", "w:2:1: `0` is not a weight"),
        ("-3 sieve", "w:1:1: `-3` is not a weight"),
        ("99999999 sieve", "w:1:1: `99999999` is not a weight: a line begins with a whole number from 1 to 1000000"),
        ("sieve 20", "w:1:1: the weight comes first: write `20 sieve`"),
        ("20 sieve twice", "w:1:10: `twice` is too much"),
        ("FILESIZES 1M", "w:1:1: `FILESIZES` is neither"),
        ("FILESIZE:", "w:1:10: FILESIZE has no size: write `FILESIZE: 10K`"),
        ("FILESIZE: 10", "w:1:11: `10` is not a size"),
        ("POOLSIZE 2000G", "w:1:10: `2000G` is not a size"),
        ("POOLSIZE 1M 2M", "w:1:13: `2M` is too much"),
        ("POOLSIZE \u{20ac}", "w:1:10: `\u{20ac}` is not a size"),
        ("# nothing", "w: has no jobs"),
    ];
    for (text, expected) in cases {
        let fault = Workfile::parse("w", text).expect_err(text).to_string();
        assert!(fault.starts_with(expected), "{text}: {fault}");
    }
}

#[test]
fn an_unknown_workfile_is_no_file() {
    let fault = Workfile::load("fservr").expect_err("there is none").to_string();
    assert!(fault.starts_with("fservr: no such workfile. Did you mean fserver? Name a file"), "{fault}");
    let fault = Workfile::load("./no/such").expect_err("there is none").to_string();
    assert!(fault.contains("cannot be read: No such file"), "{fault}");
}
