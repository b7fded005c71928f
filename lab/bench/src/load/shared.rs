//! Threads that read together and write alone.

use super::body::{self, Body, Load, lot};
use super::exclusive::Lock;
use crate::environment::Environment;
use crate::probe::Probe;
use crate::run::{Counts, Kind, Outcome, Plan, Roles, Workload};
use anyhow::ensure;
use std::hint::black_box;
use std::ptr;

/// What the lock protects: three equal counts of the writes, and where the work of a writer takes its seed and leaves
/// its result (word 2).
pub type Record = [u64; 4];

/// A lock with data inside that many threads may read at a time.
pub trait SharedLock: Lock<Record> {
    /// Runs `f` on the data, or on a copy that was read while no thread wrote.
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R;
}

/// Runs one sample of `plan` with a fresh lock.
///
/// # Errors
/// When a thread cannot be started, or when the lock let a writer in together with another thread.
pub fn sample<L: SharedLock>(plan: &Plan) -> anyhow::Result<Outcome> {
    body::sample::<Shared, L>(plan)
}

/// Whether a thread's next operation reads.
enum Role {
    Reads,
    Writes,
    /// Reads if the upper half of the next number is below the first.
    Both(u64, u64),
}

impl Role {
    fn of(roles: Roles, thread: usize) -> Role {
        match roles {
            Roles::Mixed { read_percent: 0 } => Role::Writes,
            Roles::Mixed { read_percent: 100 } => Role::Reads,
            Roles::Mixed { read_percent } => Role::Both((u64::from(read_percent) << 32) / 100, thread as u64 + 1),
            Roles::Apart { writers, .. } if thread < writers => Role::Writes,
            Roles::Apart { .. } => Role::Reads,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Kind {
        match self {
            Role::Reads => Kind::Read,
            Role::Writes => Kind::Write,
            Role::Both(limit, state) => {
                if lot(state) < *limit {
                    Kind::Read
                } else {
                    Kind::Write
                }
            }
        }
    }
}

/// A thread's private state.
pub struct Local {
    role: Role,
    chain: u64,
    /// Work that rests it after each operation, in addition to the body's.
    rest: u32,
    /// Anything but zero: a reader saw half a write.
    torn: u64,
}

impl Local {
    #[inline(always)]
    fn look<W: Environment, B: Body<W>>(&mut self, body: B, data: &Record) {
        touch::<W>(data, false);
        let count = data[0];
        self.chain = body.inside(self.chain ^ data[2]);
        // The compiler must assume that another thread may have written meanwhile.
        let data = if body.tight() { data } else { black_box(data) };
        self.torn |= (count ^ data[1]) | (count ^ data[3]);
    }
}

#[inline(always)]
fn change<W: Environment, B: Body<W>>(body: B, data: &mut Record) {
    if !body.tight() {
        touch::<W>(data, false);
    }
    let count = data[0];
    data[2] = body.inside(data[2]);
    touch::<W>(data, true);
    let data = if body.tight() { data } else { black_box(data) };
    data[0] = count + 1;
    data[1] += 1;
    data[3] += 1;
}

/// Announces that the section is about to read the data, or to write it.
#[inline(always)]
#[track_caller]
fn touch<W: Environment>(data: &Record, write: bool) {
    W::touch(ptr::from_ref(data).cast(), size_of::<Record>(), write);
}

/// They read together and write alone.
pub enum Shared {}

impl<W: Environment, L: SharedLock, B: Body<W>> Workload for Load<(Shared, W, L), B> {
    type Shared = L;
    type Local = Local;
    const NO_SLEEP: Option<&'static str> = Some("readers and writers do not sleep");

    fn shared(self) -> L {
        L::new(Record::default())
    }

    fn local(self, roles: Roles, thread: usize) -> Local {
        let role = Role::of(roles, thread);
        let rest = match (roles, &role) {
            (Roles::Apart { rest, .. }, Role::Writes) => rest,
            _ => 0,
        };
        Local { role, chain: 1, rest, torn: 0 }
    }

    /// An optimistic read costs less than a check of the signal.
    fn batch(self, threads: usize) -> u32 {
        if self.body.tight() && threads <= 2 { 16 } else { 1 }
    }

    #[inline(always)]
    fn operate<P: Probe>(self, lock: &L, local: &mut Local, probe: &mut P) -> Kind {
        let kind = local.role.next();
        let address = ptr::from_ref(lock).cast();
        probe.asks(address);
        let asked = probe.mark();
        let acquired = match kind {
            Kind::Read => lock.read(|data| {
                let acquired = probe.mark();
                probe.acquired(address, kind);
                local.look::<W, B>(self.body, data);
                probe.releases(address, kind);
                acquired
            }),
            Kind::Write => lock.with(|data| {
                let acquired = probe.mark();
                probe.acquired(address, kind);
                change::<W, B>(self.body, data);
                probe.releases(address, kind);
                acquired
            }),
        };
        probe.record(kind, asked, acquired);
        kind
    }

    #[inline(always)]
    fn rest(self, local: &mut Local) {
        self.body.outside(&mut local.chain);
        if local.rest > 0 {
            self.body.rest(&mut local.chain, local.rest);
        }
    }

    fn torn(local: &Local) -> bool {
        local.torn != 0
    }

    /// Checks that no write was lost, and that no reader saw half of one.
    fn check(lock: &L, done: Counts, torn: bool) -> anyhow::Result<()> {
        check(lock.with(|data| *data), done.write, torn)
    }
}

fn check([count, mirror, _, last]: Record, total: u64, torn: bool) -> anyhow::Result<()> {
    ensure!(
        [count, mirror, last] == [total; 3],
        "the lock let two writers in at once: {total} writes, but the data behind it count {count}, {mirror}, {last}",
    );
    ensure!(!torn, "the lock let a reader in beside a writer: it saw half a write");
    Ok(())
}
