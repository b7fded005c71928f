//! The schedules.

use crate::roles::{self, Fs, Ledger};
use crate::support;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use turnwise_sim::spec::{Machine, OnCpuView};
use turnwise_sim::{Affinity, Outcome, Perturb, ProfileEntry, Sim, Simulation};
use turnwise_simbench::Simulated;
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::{Linux37, Linux37Patch2, Linux310, Linux310Dcache, Linux312, Today};

/// Schedules of each set of locks; an environment variable may set more.
const RUNS: u64 = 200;

/// Returns a number from the environment.
fn asked(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}; give a number")),
        Err(_) => otherwise,
    }
}

/// What differs from run to run.
struct Case {
    machine: Arc<Machine>,
    perturb: Perturb,
    bound: bool,
    journal: bool,
}

impl Case {
    fn of(run: u64) -> Case {
        let (nodes, cores) = [(2, 2), (1, 6), (2, 4)][(run % 3) as usize];
        let mut machine = support::machine(nodes, cores);
        machine.cpu.store_buffer = run % 4 < 2;
        // As in a kernel: spin locks are not preempted. As in a program, for locks that are for programs, too.
        machine.system.on_cpu = if run % 5 == 4 { OnCpuView::Rseq } else { OnCpuView::Exact };
        // So that threads that share a CPU get in each other's way within a run.
        machine.system.latency /= 200;
        machine.system.min_granularity /= 200;
        machine.system.wakeup_granularity /= 200;
        let perturb = match run % 3 {
            0 => Perturb::None,
            1 => Perturb::Stalls { per_million: 5_000, max_ns: 20_000 },
            _ => Perturb::Pct { per_million: 3_000, max_ns: 50_000 },
        };
        Case { machine: Arc::new(machine), perturb, bound: run.is_multiple_of(7), journal: run % 4 == 1 }
    }
}

/// Runs one schedule; afterwards all must be as the threads left it, with no remains of the file system.
fn schedule<L: LockSet<Sim>>(run: u64) -> Outcome {
    let case = Case::of(run);
    let cpus = case.machine.topology.cpus();
    let config = turnwise_sim::Config {
        perturb: case.perturb,
        silence_ns: 200_000_000,
        arena_bytes: 32 << 20,
        stack_bytes: 256 << 10,
        ..turnwise_sim::Config::new(case.machine, run)
    };
    let name = <L as LockSet<Sim>>::NAME;
    let mut sim = Simulation::new(config, roles::ALL.len());
    let world = sim.build(|| Fs::<L>::new(case.journal));
    let world = sim.place("file system", world);
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    for (number, role) in roles::ALL.iter().enumerate() {
        let (world, ledger) = (world.clone(), Rc::clone(&ledger));
        let affinity = if case.bound { Affinity::Cpu(number as u32 % cpus) } else { Affinity::Any };
        sim.spawn(affinity, move || roles::play(&world, *role, number, &ledger));
    }
    drop(world);
    let outcome = sim.run().unwrap_or_else(|stuck| panic!("{name}, run {run}: {stuck}"));
    assert_eq!(ledger.borrow().done, roles::ALL.len(), "{name}, run {run}");
    outcome
}

fn schedules<L: LockSet<Sim>>() {
    let first = asked("TURNWISE_VFS_FIRST", 0);
    let name = <L as LockSet<Sim>>::NAME;
    for run in first..first + asked("TURNWISE_VFS_RUNS", RUNS) {
        let finished = std::panic::catch_unwind(|| schedule::<L>(run));
        let outcome = finished.unwrap_or_else(|_| panic!("{name}: TURNWISE_VFS_FIRST={run} TURNWISE_VFS_RUNS=1"));
        assert_eq!(outcome.objects, 0, "{name}, run {run}: blocks that nobody has freed");
    }
}

#[test]
fn today() {
    schedules::<Today>();
}

#[test]
fn linux_37() {
    schedules::<Linux37>();
}

#[test]
fn linux_37_patch_2() {
    schedules::<Linux37Patch2>();
}

#[test]
fn linux_310() {
    schedules::<Linux310>();
}

#[test]
fn linux_310_dcache() {
    schedules::<Linux310Dcache>();
}

#[test]
fn linux_312() {
    schedules::<Linux312>();
}

/// Attributes the time at locks to callers, as the paper splits it.
#[test]
fn the_profile_tells_on_whose_behalf_a_lock_was_taken() {
    let in_ticket_lock = |profile: &[ProfileEntry], scope: &str| {
        let here = profile.iter().filter(|e| e.scope == scope && e.file.ends_with("lineage/src/ticket.rs"));
        here.map(|entry| entry.ps).sum::<u64>()
    };
    let before = schedule::<Linux310>(0).profile;
    for scope in ["path_get", "dput", "d_path"] {
        assert!(in_ticket_lock(&before, scope) > 0, "{scope}: {before:?}");
    }
    // In Linux 3.12 `d_path` takes no ticket lock, and a count is in one word with its lock.
    let after = schedule::<Linux312>(0).profile;
    assert_eq!(in_ticket_lock(&after, "path_get"), 0);
}

#[test]
fn a_run_is_a_run() {
    for run in 0..3 {
        let [first, again] = [(); 2].map(|()| schedule::<Today>(run).counters);
        assert_eq!(first, again, "run {run}");
    }
}

#[test]
fn the_host_is_the_simulated_one() {
    fn host<H: turnwise_vfs::Host<Platform = Sim>>() {}
    host::<Simulated>();
}
