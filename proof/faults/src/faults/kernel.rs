//! A kernel whose answers are unusual: an old one, one behind a container's filter, a busy one.

use super::{Fault, fault, need, need_answers};
use crate::inject::tracer::{Action, Call, Tracer};
use crate::run::Tally;
use crate::session::{Session, victims};
use anyhow::Result;
use libc::{FUTEX_CLOCK_REALTIME, FUTEX_CMP_REQUEUE, FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE};
use libc::{FUTEX_REQUEUE, FUTEX_WAKE_BITSET, FUTEX_WAKE_OP};
use nix::errno::Errno;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::time::Duration;

pub(super) const FAULTS: &[Fault] = &[
    fault("spurious-wakes", |session| answers(session, &[libc::SYS_futex], |call, rng| one_wait_in_4(call, rng, None))),
    fault("interrupted-waits", |session| {
        answers(session, &[libc::SYS_futex], |call, rng| one_wait_in_4(call, rng, Some(Errno::EINTR)))
    }),
    fault("changed-words", |session| {
        answers(session, &[libc::SYS_futex], |call, rng| one_wait_in_4(call, rng, Some(Errno::EAGAIN)))
    }),
    fault("late-wakes", |session| answers(session, &[libc::SYS_futex], late)),
    fault("no-futex", |session| answers(session, &[libc::SYS_futex], |_, _| Action::Answer(Some(Errno::ENOSYS)))),
    fault("no-requeue", |session| answers(session, &[libc::SYS_futex], first_futex)),
    fault("old-kernel", |session| {
        answers(session, OLD, |call, _| {
            let error = if call.number == libc::SYS_madvise { Errno::EINVAL } else { Errno::ENOSYS };
            Action::Answer(Some(error))
        })
    }),
    fault("filtered", |session| answers(session, FILTERED, |_, _| Action::Answer(Some(Errno::EPERM)))),
    fault("clock-steps", |session| {
        need(cfg!(target_arch = "x86_64"), "victims/clock.c is for x86-64")?;
        session.itself("stepped", "steps")
    }),
];

const OLD: &[libc::c_long] = &[
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_clone3,
    libc::SYS_futex_waitv,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_madvise,
];
const FILTERED: &[libc::c_long] = &[
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_sched_getaffinity,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_process_vm_readv,
    libc::SYS_getcpu,
];

fn answers(session: &mut Session, shown: &[libc::c_long], decide: fn(&Call, &mut SmallRng) -> Action) -> Result<Tally> {
    need_answers()?;
    let futex_alone = shown == [libc::SYS_futex];
    let mut chosen = victims("all");
    chosen.retain(|victim| !(futex_alone && victim.spins));
    session.each(&chosen, "none", |rng| Ok(Tracer::answers(rng, shown, decide)))
}

/// Returns what a futex call does, without its flags.
fn operation(call: &Call) -> i32 {
    call.operation & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)
}

fn waits(call: &Call) -> bool {
    [FUTEX_WAIT, FUTEX_WAIT_BITSET].contains(&operation(call))
}

fn one_wait_in_4(call: &Call, rng: &mut SmallRng, answer: Option<Errno>) -> Action {
    if waits(call) && rng.random_ratio(1, 4) { Action::Answer(answer) } else { Action::Pass }
}

fn late(call: &Call, rng: &mut SmallRng) -> Action {
    let wakes = [FUTEX_WAKE, FUTEX_WAKE_BITSET, FUTEX_WAKE_OP, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE];
    if (waits(call) || wakes.contains(&operation(call))) && rng.random_ratio(1, 8) {
        return Action::Late(Duration::from_micros(rng.random_range(0..5000)));
    }
    Action::Pass
}

fn first_futex(call: &Call, _: &mut SmallRng) -> Action {
    let newer = [FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET, FUTEX_CMP_REQUEUE, FUTEX_REQUEUE];
    if newer.contains(&operation(call)) { Action::Answer(Some(Errno::ENOSYS)) } else { Action::Pass }
}
