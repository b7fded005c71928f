//! What the operating system's services cost.

use super::clock::per_call;
use super::figure::{At, Figure, Summary};
use super::grid::Grid;
use super::sysfs::Cpu;
use super::value;
use super::wake::{Beside, Plan, Wakeup, ping_pong, wake_ups};
use anyhow::Result;
use std::sync::atomic::AtomicU32;
use std::thread;
use turnwise::platform::{Lane, Native, Platform};
use turnwise_sim::spec::Class;

/// How long a sleeper sleeps where the length is not being measured.
const NAP_NS: (u64, u64) = (100_000, 100_000);
/// Naps for which the way out of idleness is measured, from the shortest to the longest of each, and how many samples a
/// full run takes. A lock's waiter is woken within the section that it waits for: of short naps many lengths count.
const NAPS: [((u64, u64), u32); 6] = [
    ((1_000, 2_500), 1_000),
    ((2_500, 10_000), 1_000),
    ((10_000, 30_000), 1_000),
    (NAP_NS, 300),
    ((1_000_000, 1_000_000), 80),
    ((10_000_000, 10_000_000), 15),
];
/// How long threads sleep and wake each other before it counts: the cost of that settles in tens of milliseconds, and
/// changes in a guest by up to a third until then.
const SETTLE_NS: u64 = 100_000_000;
/// The approximate time of a nap beyond its length.
const WAKING_NS: u64 = 20_000;
/// The cost of interrupting an idle CPU, by how long it has been idle.
pub(super) const IDLE_IPI: &str = "system.idle_exit.ipi_ns";

/// Returns the cost of a call into the kernel, and of one that yields the CPU: on the calling thread's CPU.
pub(super) fn calls(batches: usize) -> [Figure; 3] {
    let nobody = AtomicU32::new(0);
    let wake = || {
        Native::wake(&nobody, Lane::Waiters, 1);
    };
    let wait = || {
        Native::park(&nobody, 1, Lane::Waiters, None);
    };
    let syscall = per_call(batches, 300, wake);
    let wait_call = per_call(batches, 300, wait);
    let yields = per_call(batches, 200, thread::yield_now);
    let how = "300 times futex(FUTEX_WAKE) on a word without sleepers";
    let syscall = Figure::measured("system.syscall", At::All, &syscall, how, 150.0);
    let how = "300 times futex(FUTEX_WAIT) on a word that changed";
    let mut wait_call = Figure::measured("system.wait_call", At::All, &wait_call, how, 200.0);
    if wait_call.value < syscall.value {
        wait_call.value = syscall.value;
        wait_call.how += "; that of any call, which took longer";
    }
    [syscall, wait_call, Figure::measured("system.yield_call", At::All, &yields, "200 times sched_yield()", 300.0)]
}

/// Costs of waking, switching and being idle.
pub(super) struct Sleeping<'a> {
    pub(super) grid: &'a Grid,
    pub(super) quick: bool,
    /// The cost of a system call.
    pub(super) syscall_ns: f64,
    /// The cost of reading the clock: part of each timed call.
    pub(super) clock_ns: f64,
    /// Earlier measurements, including the costs of lines.
    pub(super) known: &'a [Figure],
}

impl Sleeping<'_> {
    /// Returns all of them: context switch, wake-up, interrupts by distance, idle exits.
    ///
    /// # Errors
    /// A thread cannot be started or pinned.
    pub(super) fn figures(&self) -> Result<Vec<Figure>> {
        let cpu = self.grid.cpus[0];
        let pairs = self.grid.pairs(1);
        // The nearest other core; a sibling's idleness is not a core's.
        let other = pairs.iter().find(|(class, _)| **class > Class::SAME_CORE).map(|(_, pairs)| pairs[0].1);
        let beside_waker = self.wake_up((cpu, cpu), Beside::Waker, NAP_NS, 200)?;
        let same_cpu = self.call(&beside_waker, 0.0);
        let same_cpu_ns = Summary::of(&same_cpu).map_or(0.0, |summary| summary.spread.median);
        let switch = self.context_switch(cpu, same_cpu_ns)?;
        let wake = match other {
            Some(other) => {
                let busy = self.wake_up((cpu, other), Beside::Spinner, NAP_NS, 200)?;
                let how = "futex wake-up of a sleeper whose CPU is busy, less a system call and three lines";
                Figure::measured("system.wake", At::All, &self.call(&busy, self.lines(3, cpu, other)), how, 500.0)
            }
            None => {
                let how = "futex wake-up of a sleeper on the waker's CPU, less a system call";
                Figure::measured("system.wake", At::All, &same_cpu, how, 500.0)
            }
        };
        let mut figures = vec![switch, wake];
        for (&class, pairs) in &pairs {
            let interrupt = self.interrupt(class, pairs[0], figures[1].value)?;
            figures.push(interrupt);
        }
        figures.extend(self.idle_exits(cpu, other, &figures)?);
        Ok(figures)
    }

    fn wake_up(
        &self,
        (waker, sleeper): (Cpu, Cpu),
        beside: Beside,
        slept_ns: (u64, u64),
        samples: u32,
    ) -> Result<Vec<Wakeup>> {
        let samples = if self.quick { (samples / 4).max(5) } else { samples };
        let before = u32::try_from(SETTLE_NS / (slept_ns.1 + WAKING_NS))?;
        let before = if beside == Beside::Nothing { before } else { 0 };
        wake_ups(Plan { waker: waker.cpu, sleeper: sleeper.cpu, beside, slept_ns, before, samples })
    }

    /// Returns the time of the call beyond a system call that wakes no thread, and beyond `lines_ns`.
    fn call(&self, wake_ups: &[Wakeup], lines_ns: f64) -> Vec<f64> {
        let known = self.clock_ns + self.syscall_ns + lines_ns;
        wake_ups.iter().map(|wake| (wake.call_ns - known).max(0.0)).collect()
    }

    /// Returns the cost of taking this many lines from the sleeper's CPU, which used them last: the simulator charges
    /// it itself. A waker takes three: the lock of the futex's hash bucket, the sleeper's line and its queue's.
    fn lines(&self, count: u32, a: Cpu, b: Cpu) -> f64 {
        f64::from(count) * value(self.known, "coherence.rmw_modified", At::Class(self.grid.class(a, b)))
    }

    fn context_switch(&self, cpu: Cpu, wake_ns: f64) -> Result<Figure> {
        let batches = if self.quick { 10 } else { 30 };
        let hops = ping_pong(cpu.cpu, batches, 400)?;
        let samples: Vec<f64> = hops.iter().map(|hop| hop - 2.0 * self.syscall_ns - wake_ns).collect();
        let how = "two threads on one CPU wake each other by futex: a hop less two system calls and the wake-up";
        Ok(Figure::measured("system.context_switch", At::All, &samples, how, 1_000.0))
    }

    /// Returns the time of the calls that woke a sleeper whose CPU was idle, beyond those where it was busy.
    fn interrupts(&self, idle: &[Wakeup], (a, b): (Cpu, Cpu), wake_ns: f64) -> Vec<f64> {
        self.call(idle, self.lines(3, a, b)).iter().map(|call| call - wake_ns).collect()
    }

    fn interrupt(&self, class: Class, cpus: (Cpu, Cpu), wake_ns: f64) -> Result<Figure> {
        let idle = self.wake_up(cpus, Beside::Nothing, NAP_NS, 100)?;
        let samples = self.interrupts(&idle, cpus, wake_ns);
        let how = "futex wake-up of a sleeper whose CPU has been idle for 100 us, less that of one whose CPU is busy";
        Ok(Figure::measured("system.ipi", At::Class(class), &samples, how, 1_000.0))
    }

    /// Returns how long an idle CPU takes to notice a thread: from the call until the sleeper runs, less what the
    /// simulator charges for by itself.
    fn idle_exits(&self, cpu: Cpu, other: Option<Cpu>, known: &[Figure]) -> Result<Vec<Figure>> {
        let Some(other) = other else {
            let how = "a guess: needs a second CPU";
            return Ok(vec![Figure::guess("system.idle_exit", At::IdleNs(0), 2_000.0, how)]);
        };
        let [wake_ns, switch_ns] = ["system.wake", "system.context_switch"].map(|key| value(known, key, At::All));
        // The sleeper's CPU takes the line of its queue back.
        let charged = self.syscall_ns + self.lines(4, cpu, other) + wake_ns + switch_ns;
        // A nap begins with the call; its CPU is idle when it has checked the word and switched.
        let wait_call_ns = value(self.known, "system.wait_call", At::All);
        let before_idle = (wait_call_ns - self.syscall_ns / 2.0 + switch_ns) as u64;
        let (mut exits, mut interrupts): (Vec<Figure>, Vec<Figure>) = (Vec::new(), Vec::new());
        for (slept_ns, samples) in NAPS {
            let woken = self.wake_up((cpu, other), Beside::Nothing, slept_ns, samples)?;
            // The value of the shortest sleep holds from the start.
            let at = At::IdleNs(if exits.is_empty() { 0 } else { idle_for(slept_ns.0, before_idle) });
            let nap = length(slept_ns);
            let calls = self.interrupts(&woken, (cpu, other), wake_ns);
            let how = format!("futex wake-up of a sleeper of {nap}, less that of one whose CPU is busy");
            let interrupt = Figure::mean(IDLE_IPI, at, &calls, &how, 1_000.0);
            let runs: Vec<f64> = woken.iter().map(|wake| wake.until_runs_ns - charged - interrupt.value).collect();
            let how = format!(
                "from the wake-up's call until a sleeper of {nap} runs, less call, wake-up, interrupt and switch"
            );
            let mut exit = Figure::mean("system.idle_exit", at, &runs, &how, 2_000.0);
            // Deeper sleep does not end sooner; where it seems so, it is noise.
            if let Some(last) = exits.last().filter(|last| last.value > exit.value) {
                exit.value = last.value;
                exit.how += "; that of shorter sleep, which took longer";
            }
            exits.push(exit);
            interrupts.push(interrupt);
        }
        exits.append(&mut interrupts);
        Ok(exits)
    }
}

/// Returns how long a CPU is idle in a nap that begins this long before: at least half of it, so that longer naps are
/// also longer idle next to neighbours, which may make a switch seem to take any time.
fn idle_for(nap_ns: u64, before_idle_ns: u64) -> u64 {
    nap_ns - before_idle_ns.min(nap_ns / 2)
}

/// Returns the range from the shortest to the longest nap, in words.
fn length((shortest, longest): (u64, u64)) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    if shortest == longest { format!("{} us", us(shortest)) } else { format!("{} to {} us", us(shortest), us(longest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_naps_are_longer_idle_whatever_a_switch_takes() {
        for before_idle in [0, 1_700, 9_000, u64::MAX] {
            let idle: Vec<u64> = NAPS[1..].iter().map(|nap| idle_for(nap.0.0, before_idle)).collect();
            assert!(idle[0] > 0 && idle.is_sorted_by(|a, b| a < b), "{before_idle}: {idle:?}");
        }
        assert_eq!([2_500, 10_000].map(|nap| idle_for(nap, 1_700)), [1_250, 8_300]);
    }
}
