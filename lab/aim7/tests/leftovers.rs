//! Users side by side: every job of every workfile runs, and leaves nothing behind.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use turnwise_aim7::{Child, Comm, JOBS, Setup, Site, Workfile};
use turnwise_sim::{Affinity, Config, Sim, Simulation, spec};
use turnwise_vfs::journal;
use turnwise_vfs::locks::Today;

const USERS: u32 = 4;

fn run_all(site: &Site<Today>, number: u32) {
    let mut child = Sim::in_kernel(|| Child::new(site, number)).expect("there is room");
    assert_eq!(child.run_all().expect("every job works"), 2 * JOBS.len() as u32);
    let meters = child.meters;
    let (script, ls) = (meters.of(Comm::True), meters.of(Comm::Ls));
    assert_eq!(script.execs > 0, script.paths > 0, "{meters:?}");
    let (mappings, protections) = (2 * 9, 2 * 7 + 2);
    let paths = ls.execs * (mappings + protections);
    assert_eq!(ls.paths, paths, "one for each mapping of its 9 files, and each new protection");
    Sim::in_kernel(|| child.exit()).expect("its files go");
}

fn check(site: &Site<Today>, files: u64) {
    let kernel = &site.kernel;
    assert_eq!((kernel.tasks.alive(), kernel.family.linked(), kernel.zones.used()), (0, 0, 0));
    assert_eq!(kernel.top_tables.listed(), 0);
    assert_eq!(kernel.images.iter().map(|image| image.areas()).sum::<u64>(), 0, "areas of mapped files are left");
    assert_eq!((kernel.net.open(), kernel.ipc.semaphores.entries(), kernel.ipc.segments.entries()), (0, 0, 0));
    assert!(kernel.tasks.forks() > u64::from(USERS), "children forked");
    assert_eq!(site.files.count(), files, "files are left");
    assert!(site.files.commits() > 2, "{} commits", site.files.commits());
}

#[test]
fn users_leave_nothing_behind() {
    let workfile = Workfile::of(JOBS.iter().map(|job| (1, job.name))).expect("they are jobs");
    let journal = Some(journal::Config { handles_per_commit: 50, truncate_handles: 2, ..journal::Config::default() });
    let base = Setup::new(workfile);
    let setup = Setup { scale: 20, compute_ns: 1000, profiler: true, directories: 4, file_systems: 2, journal, ..base };
    let machine = Arc::new(spec::load("desktop-4").expect("it is built in"));
    let config = Config { arena_bytes: 1 << 28, stack_bytes: 128 << 10, ..Config::new(machine, 1) };
    let mut simulation = Simulation::new(config, USERS as usize);
    let site = simulation.build(|| Site::<Today>::new(&setup, USERS)).expect("the file system takes it");
    let files = site.files.count();
    let (site, left) = (Rc::new(site), Rc::new(Cell::new(USERS)));
    for number in 0..USERS {
        let (site, left) = (Rc::clone(&site), Rc::clone(&left));
        simulation.spawn(Affinity::Any, move || {
            run_all(&site, number);
            left.set(left.get() - 1);
            if left.get() == 0 {
                check(&site, files);
            }
        });
    }
    drop(site); // the last user drops it, with its simulated memory
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    assert_eq!(left.get(), 0);
}
