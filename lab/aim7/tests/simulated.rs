//! AIM7 on the simulated machine.

use std::sync::Arc;
use turnwise_aim7::meter::COMMS;
use turnwise_aim7::{Comm, Length, Outcome, Plan, Setup, Workfile, simulate};
use turnwise_sim::spec;
use turnwise_vfs::journal;
use turnwise_vfs::locks::SETS;

fn plan(workfile: &str, locks: &'static str, machine: &str, users: u32) -> Plan {
    let machine = Arc::new(spec::load(machine).expect("it is built in"));
    let workfile = Workfile::load(workfile).expect("it is built in");
    Plan::new(workfile, locks, machine, users)
}

fn run(plan: &Plan) -> Outcome {
    simulate(plan).unwrap_or_else(|error| panic!("{error:#}"))
}

fn json(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("it has a form")
}

/// Returns a short window of few users, so that a debug build has it at once.
fn small(workfile: &str, locks: &'static str) -> Plan {
    let plan = plan(workfile, locks, "desktop-4", 10);
    let setup = Setup { compute_ns: 200_000, ..plan.setup };
    Plan { setup, length: Length::Window { warm_up_ns: 500_000, measured_ns: 2_000_000 }, ..plan }
}

#[test]
fn every_mix_runs_on_every_set_of_locks_and_one_seed_is_one_run() {
    for &(name, _) in SETS {
        let plan = small("alltests", name);
        let outcome = run(&plan);
        assert!(outcome.jobs > 50, "{}: {outcome:?}", name);
        assert!(outcome.busy > 0.2 && outcome.busy <= 1.0, "{}: {}", name, outcome.busy);
        assert_eq!(json(&outcome), json(&run(&plan)), "{}: one seed, two runs", name);
        let other = Plan { setup: Setup { seed: 2, ..plan.setup }, ..plan };
        assert_ne!(json(&outcome), json(&run(&other)), "{}: two seeds, one run", name);
    }
}

#[test]
fn whole_runs_count_every_job() {
    let plan = Plan { length: Length::Whole, ..small("short", "today") };
    let outcome = run(&plan);
    assert_eq!(outcome.jobs, 10 * 102);
    let jpm = 60.0 * 10.0 * 102.0 / 50.0 / outcome.seconds;
    assert!((outcome.jpm - jpm).abs() < 1e-6 * jpm, "{} is not {jpm}", outcome.jpm);
}

#[test]
fn shares_of_the_profile_add_up() {
    let outcome = run(&small("high_systime", "linux-3.7"));
    let sum: f64 = outcome.profile.iter().map(|row| row.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    assert!((outcome.busy_share(&[""]) - 1.0).abs() < 1e-9);
    assert!(outcome.busy_share(&["RwsemXadd::"]) > 0.0, "forks take locks: {:?}", outcome.profile);
}

#[test]
fn a_profiler_asks_for_paths_and_its_time_is_distinguished() {
    let paths = |locks, profiler: bool| {
        let jobs = ["exec_test", "shell_rtns_1", "misc_rtns_1", "fork_test"];
        let workfile = Arc::new(Workfile::of(jobs.map(|job| (10, job))).expect("they are jobs"));
        let base = small("high_systime", locks);
        let setup = Setup { workfile, profiler, compute_ns: 1000, scale: 10, ..base.setup };
        run(&Plan { setup, length: Length::Window { warm_up_ns: 500_000, measured_ns: 8_000_000 }, ..base })
    };
    let outcome = paths("linux-3.10", true);
    let before = outcome.meters;
    for (comm, libraries) in [(Comm::Ls, 7), (Comm::True, 2), (Comm::Sh, 2)] {
        let meter = before.of(comm);
        assert!(meter.execs > 0, "{before:?}");
        // Code and data, the loader and the program itself among them; then another protection for the data of these
        // two, and two for that of a library.
        let each = 2 * (libraries + 2) + 2 + 2 * libraries;
        assert!(meter.paths.abs_diff(each * meter.execs) <= 10 * each, "a path for each event: {before:?}");
    }
    assert_eq!(before.of(Comm::Reaim).execs, 0, "AIM7 itself execs nothing");
    assert_eq!(paths("linux-3.10", false).meters.of(Comm::Ls).paths, 0, "without a profiler there are none");
    for comm in COMMS {
        let share = outcome.command_share(comm.name(), None, &["KernelTicketLock"]);
        assert!(share > 0.0, "{comm:?} takes locks: {:?}", outcome.scopes);
        assert!(share >= outcome.command_share(comm.name(), Some("d_path"), &["KernelTicketLock"]), "{comm:?}");
    }
    let all: f64 = COMMS.iter().map(|comm| outcome.command_share(comm.name(), None, &[""])).sum();
    assert!((0.9..=1.0 + 1e-9).contains(&all), "commands have all of the time but the scheduler's: {all}");
    let today = paths("today", true);
    assert!(today.meters.of(Comm::Ls).paths > 0, "{:?}", today.meters);
    let locks = ["KernelTicketLock", "RawSpinLock", "RawSeqRwLock", "LockRef"];
    let in_locks = |outcome: &Outcome| outcome.command_share("ls", None, &locks);
    assert!(in_locks(&today) < in_locks(&outcome), "{} after {}", in_locks(&today), in_locks(&outcome));
}

#[test]
fn a_journal_is_committed_and_costs_time() {
    let base = small("new_fserver", "linux-3.7");
    let journal = journal::Config { handles_per_commit: 100, orphan_ns: 20_000, ..journal::Config::default() };
    let with = run(&Plan { setup: Setup { journal: Some(journal), ..base.setup.clone() }, ..base.clone() });
    let without = run(&base);
    assert!(with.commits > 0 && without.commits == 0, "{} and {}", with.commits, without.commits);
    assert!(with.jpm < without.jpm, "{} and {}", with.jpm, without.jpm);
}

#[test]
fn computing_alone_is_as_fast_as_the_cpus() {
    let workfile = Workfile::of([(1, "add_int")]).expect("it is a job");
    let base = small("short", "today");
    let setup = Setup { workfile: Arc::new(workfile), compute_ns: 1_000_000, scale: 50, ..base.setup.clone() };
    let one = run(&Plan { setup: setup.clone(), ..base.clone() });
    // Four CPUs, a millisecond for a job.
    let most = 60.0 * 4.0 * 1000.0;
    assert!((0.9 * most..=1.02 * most).contains(&one.jpm), "{} of {most}", one.jpm);
    assert!((0.95..1.05).contains(&one.cpu_ms_per_job), "{}", one.cpu_ms_per_job);
    let taxed = run(&Plan { setup: Setup { tax_permille: 2000, ..setup }, ..base });
    assert!((0.45..0.55).contains(&(taxed.jpm / one.jpm)), "{} after {}", taxed.jpm, one.jpm);
}

#[test]
fn a_plan_without_sense_is_refused() {
    let base = small("short", "today");
    let complaint = |plan: &Plan| format!("{:#}", simulate(plan).expect_err("no sense"));
    assert!(complaint(&Plan { users: 0, ..base.clone() }).contains("a run needs a user"));
    assert!(complaint(&Plan { cpus: vec![4], ..base.clone() }).contains("machine desktop-4 has no CPU 4"));
    let length = Length::Window { warm_up_ns: 0, measured_ns: 0 };
    assert!(complaint(&Plan { length, ..base.clone() }).contains("longer than 0 ns"));
    let with = |file_systems, directories, scale| {
        complaint(&Plan { setup: Setup { file_systems, directories, scale, ..base.setup.clone() }, ..base.clone() })
    };
    assert!(with(16, 4, 1).contains("4 directories cannot be spread over 16 file systems"));
    assert!(with(0, 4, 1).contains("files need a file system"));
    assert!(with(1, 1, 0).contains("divided by 0"));
    assert!(with(1, 5000, 1).contains("at most 4096"));
}
