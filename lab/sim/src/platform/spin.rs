//! Spinning, as the Linux platform does it: poll, pause, poll; occasionally check the clock and whether the owner runs.
//!
//! A spinner that polls all the time is parked on its lines. One that backs off polls at the times at which the
//! hardware's would.

use crate::engine::{self, Doing, Kind, Op, SpinEnded, Watch};
use crate::spec::{NS, OnCpuView, Ps};
use std::panic::Location;
use turnwise::platform::{OnCpu, SpinEnd, SpinLimit, Token};
use turnwise::wait::policy;

type CallSite = &'static Location<'static>;

/// Spin hints between two questions to the clock, outside of a kernel.
const HINTS_PER_CLOCK: Ps = 32;

/// Spins on a word until `look` has a result.
pub(super) fn spin<R>(
    word: usize,
    limit: SpinLimit,
    at: CallSite,
    mut look: impl FnMut() -> Option<R>,
) -> Result<R, SpinEnd> {
    assert!(engine::inside(), "only a simulated thread can spin: no other spin would ever end");
    let mut checks = Checks::new(limit);
    let poll_ns = policy().poll_ns as u32;
    let (mut still_ns, mut changes, mut rest_ns): (u32, u32, u32) = (0, 0, poll_ns);
    load(word, at);
    let mut looks = 0;
    loop {
        if let Some(result) = engine::for_free(&mut look) {
            if looks > 0 {
                engine::with(|e| e.no_look_ahead()); // the end of a loop is mispredicted
            }
            return Ok(result);
        }
        looks += 1;
        let looked = engine::with(|e| e.now);
        checks.ask(limit, at)?;
        if engine::with(|e| e.now) != looked && engine::for_free(&mut look).is_some() {
            load(word, at); // written while it asked: nothing would report it
            continue;
        }
        if let Some(still_max_ns) = limit.still_ns {
            let unchanged = rest(rest_ns, word, at);
            still_ns = if unchanged { still_ns.saturating_add(poll_ns) } else { 0 };
            let away = !unchanged && limit.batches;
            rest_ns = if away { policy().away_ns(engine::with(|e| e.line_ns), changes) } else { poll_ns };
            changes += u32::from(!unchanged);
            if still_ns >= still_max_ns && engine::for_free(&mut look).is_none() {
                return Err(SpinEnd::Deadline);
            }
        } else {
            match park(word, limit, &checks, at, &mut look) {
                SpinEnded::Reloaded | SpinEnded::Deadline => {}
                SpinEnded::Rescheduled => load(word, at),
            }
        }
    }
}

fn load(word: usize, at: CallSite) {
    engine::reach(word, Op::Load, Doing::new(Kind::Spin, at));
}

/// Backs off, then polls, and learns what that costs; returns whether the line was still in the CPU's cache.
fn rest(ns: u32, word: usize, at: CallSite) -> bool {
    /// The longest that a poll of such a line takes, as in the platform for Linux.
    const UNCHANGED_NS: u32 = 12;
    engine::step(|e| e.busy(Doing::new(Kind::Spin, at), Ps::from(ns) * NS));
    let begin = engine::with(|e| e.now);
    load(word, at);
    engine::with(|e| {
        let took = ((e.now - begin) / NS).min(4096) as u32;
        let unchanged = took <= UNCHANGED_NS;
        if !unchanged {
            e.line_ns = e.line_ns - e.line_ns / 16 + took / 16;
        }
        unchanged
    })
}

/// When a spinner checks whether it should give up.
struct Checks {
    view: OnCpuView,
    period: Ps,
    next: Ps,
}

impl Checks {
    fn new(limit: SpinLimit) -> Checks {
        engine::with(|e| {
            let view = e.machine.system.on_cpu;
            // A kernel's loop checks the owner's state each time; a program's checks occasionally.
            let hints = if view == OnCpuView::Exact && limit.still_ns.is_none() { 1 } else { HINTS_PER_CLOCK };
            let period = hints * e.machine.cpu.pause;
            Checks { view, period, next: e.now + period }
        })
    }

    fn ask(&mut self, limit: SpinLimit, at: CallSite) -> Result<(), SpinEnd> {
        if limit.need_resched && must_go() {
            return Err(SpinEnd::Deadline);
        }
        let now = engine::with(|e| e.now);
        let exact = self.view == OnCpuView::Exact;
        if now >= self.next {
            self.next = now + self.period;
            if !exact {
                engine::step(|e| e.spend(Doing::new(Kind::Spin, at), e.machine.cpu.clock));
            }
            if limit.until.is_some_and(|until| now >= until.saturating_mul(NS)) {
                return Err(SpinEnd::Deadline);
            }
        } else if !exact {
            return Ok(());
        }
        match limit.owner {
            Some(owner) if on_cpu(owner, at) == OnCpu::NotRunning => Err(SpinEnd::NotRunning),
            _ => Ok(()),
        }
    }

    /// Returns when a parked spinner has to ask next.
    fn wake_at(&self, limit: SpinLimit) -> Option<Ps> {
        if limit.owner.is_some() && self.view == OnCpuView::Rseq {
            return Some(self.next);
        }
        limit.until.map(|until| until.saturating_mul(NS).max(self.next))
    }
}

/// Returns whether another thread is to have the CPU of the running one.
fn must_go() -> bool {
    engine::with(|e| e.need_resched()) == Some(true)
}

/// Parks the thread on the word's line, and in a kernel on the line that shows whether the owner runs.
fn park<R>(
    word: usize,
    limit: SpinLimit,
    checks: &Checks,
    at: CallSite,
    look: &mut impl FnMut() -> Option<R>,
) -> SpinEnded {
    if limit.need_resched && must_go() {
        return SpinEnded::Deadline; // since it asked
    }
    let owner = limit.owner.filter(|_| checks.view == OnCpuView::Exact).and_then(super::number);
    let owner = owner.map(|owner| engine::with(|e| e.on_cpu_word(owner)));
    let mut ready = || look().is_some() || owner.as_ref().is_some_and(|on_cpu| on_cpu.peek() == 0);
    let ready: &mut dyn FnMut() -> bool = &mut ready;
    // SAFETY: only the lifetime changes; the watch ends before this function returns.
    let ready: *mut (dyn FnMut() -> bool + 'static) = unsafe { std::mem::transmute(ready) };
    engine::with(|e| {
        let line = e.line(word);
        let owners = owner.as_ref().map(|word| e.line(word.address().addr())).filter(|owners| *owners != line);
        // SAFETY: `ready` stays in this frame, which is suspended below and continues when the watch has ended.
        let watch = unsafe { Watch::new(line, owners, limit.need_resched, ready) };
        e.watch(watch, checks.wake_at(limit), at);
    });
    engine::suspend();
    engine::with(|e| e.spin_ended())
}

/// See `Platform::on_cpu`.
pub(super) fn on_cpu(token: Token, at: CallSite) -> OnCpu {
    let Some(thread) = super::number(token) else { return OnCpu::Unknown };
    let word = engine::with(|e| e.on_cpu_word(thread));
    let ask = |op| engine::reach(word.address().addr(), op, Doing::new(Kind::Spin, at));
    match engine::with(|e| e.machine.system.on_cpu) {
        OnCpuView::Exact => {
            ask(Op::Load);
            if word.peek() == 0 { OnCpu::NotRunning } else { OnCpu::Running }
        }
        OnCpuView::Rseq => {
            ask(Op::Rmw);
            ask(Op::Rmw);
            let off = engine::with(|e| e.seen_off(thread));
            if off { OnCpu::NotRunning } else { OnCpu::Unknown }
        }
        OnCpuView::Unknown => OnCpu::Unknown,
    }
}
