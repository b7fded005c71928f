//! OSv's mutex on a simulated machine, which knows exactly which threads run: what spinning changes, and when it stops.

mod machine;

use machine::{Body, Config, Perturb, Report, Traced, run, work};
use std::cell::Cell;
use std::rc::Rc;
use turnwise::RawLock;
use turnwise::platform::{Pause, Platform};
use turnwise_lineage::osv_mutex::{
    NoSpin, OsvMutex, OwnerAtWake, Policy, Spin, SpinAfterPush, SpinPolling, SpinToOne, TRIES,
};

fn section<V: Policy>(lock: &OsvMutex<V, Traced>, inside: impl FnOnce()) {
    lock.lock();
    inside();
    // SAFETY: locked above.
    unsafe { lock.unlock() };
}

/// Threads that lock, count and unlock in a loop. A section takes longer than entering the queue.
fn contend<V: Policy>(config: Config, threads: usize, rounds: usize) -> Report {
    let shared = Rc::new((OsvMutex::<V, Traced>::new_in(), Cell::new(0)));
    let one = |_| -> Body {
        let shared = Rc::clone(&shared);
        Box::new(move || {
            for _ in 0..rounds {
                section(&shared.0, || {
                    let inside = shared.1.get();
                    work(10);
                    assert_eq!(shared.1.replace(inside + 1), inside, "two threads in one critical section");
                });
            }
        })
    };
    let report = run(config, (0..threads).map(one).collect()).expect("everybody gets on");
    assert_eq!(shared.1.get(), threads * rounds);
    report
}

fn gets_on<V: Policy>() {
    for seed in 0..20 {
        let perturb = Perturb::Pct { per_million: 2_000, max_ns: 10_000 };
        let config = Config { slice_ns: 5_000, perturb, ..Config::new(2, seed) };
        contend::<V>(config, 5, 40);
        contend::<V>(Config::new(4, seed), 4, 40);
    }
}

#[test]
fn everybody_gets_on_with_every_technique() {
    gets_on::<NoSpin>();
    gets_on::<Spin>();
    gets_on::<Spin<3>>();
    gets_on::<SpinToOne>();
    gets_on::<SpinPolling>();
    gets_on::<SpinAfterPush<3>>();
    gets_on::<OwnerAtWake<Spin>>();
}

#[test]
fn two_threads_that_spin_do_not_sleep() {
    let run = |report: Report| (report.elapsed_ns, report.sleeps);
    let (plain_ns, plain_sleeps) = run(contend::<NoSpin>(Config::new(2, 1), 2, 500));
    let (spin_ns, spin_sleeps) = run(contend::<Spin>(Config::new(2, 1), 2, 500));
    assert!(plain_sleeps > 20 * spin_sleeps.max(1), "{plain_sleeps} against {spin_sleeps}");
    assert!(plain_ns > 2 * spin_ns, "{plain_ns} ns against {spin_ns}");
}

/// Runs on one CPU; the second thread comes while the first, the owner, is off it. The first then hands the lock to the
/// second and, if so, comes `back` at once.
fn behind_an_absent_owner<V: Policy>(back: bool) -> Report {
    let lock = Rc::new(OsvMutex::<V, Traced>::new_in());
    let (owner, waiter) = (Rc::clone(&lock), lock);
    let first: Body = Box::new(move || {
        section(&owner, || Traced::pause(Pause::Yield));
        if back {
            section(&owner, || ());
        }
    });
    let second: Body = Box::new(move || section(&waiter, || ()));
    let config = Config { slice_ns: 1_000_000_000, ..Config::new(1, 1) };
    run(config, vec![first, second]).expect("everybody gets on")
}

/// What the tries of a whole spin take on the tests' machine, at least: each is a pause of 5 ns and 4 loads of 2 ns
/// from the CPU's own cache (the queue's two lists, the owner, the offer).
const SPIN_NS: u64 = TRIES as u64 * (5 + 4 * 2);

#[test]
fn a_spin_ends_when_the_owner_is_off_its_cpu() {
    let [plain, spin] = [behind_an_absent_owner::<NoSpin>(false), behind_an_absent_owner::<Spin>(false)];
    assert_eq!((plain.pauses, spin.pauses), (0, 0), "it polls the owner before the first try");
    assert!(spin.elapsed_ns < plain.elapsed_ns + SPIN_NS / 20, "{} ns against {}", spin.elapsed_ns, plain.elapsed_ns);
}

#[test]
fn a_lock_on_its_way_to_a_sleeper_has_no_owner_that_a_spinner_could_see_unless_the_waker_sets_it() {
    let plain = behind_an_absent_owner::<NoSpin>(true);
    let [spin, at_wake] = [behind_an_absent_owner::<Spin>(true), behind_an_absent_owner::<OwnerAtWake<Spin>>(true)];
    assert_eq!([&plain, &spin, &at_wake].map(|run| run.pauses), [0, TRIES.into(), 0], "a whole spin, unsuccessful");
    let [plain, spin, at_wake] = [plain, spin, at_wake].map(|run| run.elapsed_ns);
    assert!(spin >= plain + SPIN_NS, "it spins unsuccessfully: {spin} ns against {plain}");
    assert!(at_wake < plain + SPIN_NS / 20, "{at_wake} ns against {plain}");
}
