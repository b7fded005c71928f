//! Users as threads of this machine: every job of every workfile runs, and leaves nothing behind.

use turnwise_aim7::{Child, Comm, JOBS, Setup, Site, Workfile};
use turnwise_vfs::locks::Today;
use turnwise_vfs::{Metal, journal};

#[test]
fn users_leave_nothing_behind() {
    let text: String = JOBS.iter().map(|job| format!("1 {}\n", job.name)).collect();
    let workfile = Workfile::parse(&text).expect("it is a workfile");
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
                let (script, ls) = (meters.of(Comm::True), meters.of(Comm::Ls));
                assert_eq!(script.execs > 0, script.paths > 0, "{meters:?}");
                let (mappings, protections) = (2 * 9, 2 * 7 + 2);
                let paths = ls.execs * (mappings + protections);
                assert_eq!(ls.paths, paths, "one for each mapping of its 9 files, and each new protection");
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
