//! AIM7 on metal: every job of every workfile runs, on every set of locks, and leaves nothing behind.

use turnwise_aim7::{Child, JOBS, SETS, Setup, Site, Workfile, run};
use turnwise_vfs::locks::Today;
use turnwise_vfs::{Metal, journal};

fn setup(workfile: &str, scale: u32) -> Setup {
    let workfile = Workfile::load(workfile).expect("it is built in");
    Setup { scale, compute_ns: 1000, ..Setup::new(workfile) }
}

#[test]
fn every_set_of_locks_runs_every_job() {
    for set in SETS {
        let done = run(&setup("alltests", 40), set, 3).expect(set.name);
        assert_eq!(done.jobs, 3 * 98, "{}", set.name);
        assert!(done.jpm > 0.0 && done.seconds > 0.0, "{done:?}");
        let jti = done.jti.expect("users ended");
        assert!((0.0..=100.0).contains(&jti), "{jti}");
        let jpm = 60.0 * (3 * 98) as f64 / 40.0 / done.seconds;
        assert!((done.jpm - jpm).abs() < 1e-6 * jpm, "{} is not {jpm}", done.jpm);
    }
}

#[test]
fn users_leave_nothing_behind() {
    let text: String = JOBS.iter().map(|job| format!("1 {}\n", job.name)).collect();
    let workfile = Workfile::parse("every job", &text).expect("it is a workfile");
    let journal = Some(journal::Config { handles_per_commit: 50, truncate_handles: 2, ..journal::Config::default() });
    let base = Setup::new(workfile);
    let setup = Setup { scale: 20, compute_ns: 1000, profiler: true, directories: 4, file_systems: 2, journal, ..base };
    let site = Site::<Metal, Today>::new(&setup, 4).expect("the file system takes it");
    let files = site.files.count();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let site = &site;
            scope.spawn(move || {
                let mut child = Child::new(site, number).expect("there is room");
                assert_eq!(child.run_all().expect("every job works"), 2 * JOBS.len() as u32);
                let meters = child.meters;
                assert_eq!(meters.script.execs > 0, meters.script.paths > 0, "{meters:?}");
                let (mappings, protections) = (2 * 9, 2 * 7 + 2);
                let paths = meters.ls.execs * (mappings + protections);
                assert_eq!(meters.ls.paths, paths, "one for each mapping of its 9 files, and each new protection");
                child.exit().expect("its files go");
            });
        }
    });
    let kernel = &site.kernel;
    assert_eq!((kernel.tasks.alive(), kernel.family.linked(), kernel.zones.used()), (0, 0, 0));
    assert_eq!(kernel.top_tables.listed(), 0);
    assert_eq!(kernel.images.iter().map(|image| image.areas()).sum::<u64>(), 0, "areas of mapped files are left");
    assert_eq!((kernel.net.open(), kernel.ipc.semaphores.len(), kernel.ipc.segments.len()), (0, 0, 0));
    assert!(kernel.tasks.forks() > 4, "children forked");
    assert_eq!(site.files.count(), files, "files are left");
    assert!(site.files.commits() > 2, "{} commits", site.files.commits());
}

#[test]
fn threads_of_their_own_commit() {
    let journal = Some(journal::Config { handles_per_commit: 20, commit_ns: 0, ..journal::Config::default() });
    let setup = Setup { journal, directories: 3, file_systems: 3, ..setup("new_fserver", 50) };
    for set in SETS {
        let done = run(&setup, set, 4).expect(set.name);
        assert_eq!(done.jobs, 4 * 98, "{}", set.name);
        assert!(done.commits > 0, "{}: {done:?}", set.name);
    }
}

#[test]
fn a_setup_without_sense_is_refused() {
    let good = setup("short", 10);
    let complaint = |setup: &Setup, users| format!("{:#}", run(setup, &SETS[0], users).expect_err("no sense"));
    let with = |file_systems, directories, scale| Setup { file_systems, directories, scale, ..good.clone() };
    assert!(complaint(&with(1, 1, 1), 0).contains("a run needs a user"));
    assert!(complaint(&with(16, 4, 1), 1).contains("4 directories cannot be spread over 16 file systems"));
    assert!(complaint(&with(0, 4, 1), 1).contains("files need a file system"));
    assert!(complaint(&with(1, 1, 0), 1).contains("divided by 0"));
    assert!(complaint(&with(1, 5000, 1), 1).contains("at most 4096"));
}
