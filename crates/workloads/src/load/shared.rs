//! Threads that read together and write alone.

use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Section, Workload};
use crate::work::work;
use anyhow::{bail, ensure};
use std::hint::black_box;
use std::marker::PhantomData;

/// What the lock protects: three equal counts of the writes, and where the work of a writer takes its seed and leaves
/// its result (word 2).
pub type Record = [u64; 4];

/// A lock with data inside that many may read at a time.
pub trait SharedLock: Sync {
    /// An unlocked lock.
    fn new(value: Record) -> Self;
    /// Runs `f` on the data, or on a copy that was read while nobody wrote.
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R;
    /// Acquires for writing, runs `f`, releases.
    fn write<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R;
    /// The data.
    fn into_inner(self) -> Record;
}

/// Runs one sample of `plan` with a fresh lock.
///
/// # Errors
/// When a thread cannot be started, or when the lock let a writer in beside somebody else.
pub fn sample<L: SharedLock>(plan: &Plan) -> anyhow::Result<Outcome> {
    match plan.section {
        Section::Tight => run::sample(plan, Shared::<L, _>::of(Tight)),
        Section::Work { inside, outside } => run::sample(plan, Shared::<L, _>::of(Work { inside, outside })),
        Section::Sleep(_) => bail!("readers and writers do not sleep"),
    }
}

/// The work of an operation.
trait Body: Copy + Send + Sync {
    /// Nothing but the data is looked at.
    const TIGHT: bool;
    fn inside(self, seed: u64) -> u64;
    fn outside(self, local: &mut u64);
}

#[derive(Clone, Copy)]
struct Tight;
impl Body for Tight {
    const TIGHT: bool = true;
    #[inline(always)]
    fn inside(self, seed: u64) -> u64 {
        seed
    }
    #[inline(always)]
    fn outside(self, _local: &mut u64) {}
}

#[derive(Clone, Copy)]
struct Work {
    inside: u32,
    outside: u32,
}
impl Body for Work {
    const TIGHT: bool = false;
    #[inline(always)]
    fn inside(self, seed: u64) -> u64 {
        work(seed, self.inside)
    }
    #[inline(always)]
    fn outside(self, local: &mut u64) {
        *local = black_box(work(*local, self.outside));
    }
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
                *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                if *state >> 32 < *limit { Kind::Read } else { Kind::Write }
            }
        }
    }
}

/// What a thread has for itself.
struct Local {
    role: Role,
    chain: u64,
    /// Steps of rest after each operation, beside what the body says.
    rest: u32,
    /// Anything but zero: a reader saw half a write.
    torn: u64,
}

impl Local {
    #[inline(always)]
    fn look<B: Body>(&mut self, body: B, data: &Record) {
        let count = data[0];
        self.chain = body.inside(self.chain ^ data[2]);
        // The compiler must take it that somebody may have written meanwhile.
        let data = if B::TIGHT { data } else { black_box(data) };
        self.torn |= (count ^ data[1]) | (count ^ data[3]);
    }
}

#[inline(always)]
fn change<B: Body>(body: B, data: &mut Record) {
    let count = data[0];
    data[2] = body.inside(data[2]);
    let data = if B::TIGHT { data } else { black_box(data) };
    data[0] = count + 1;
    data[1] += 1;
    data[3] += 1;
}

struct Shared<L, B> {
    body: B,
    lock: PhantomData<fn() -> L>,
}

impl<L, B> Shared<L, B> {
    fn of(body: B) -> Self {
        Shared { body, lock: PhantomData }
    }
}

impl<L, B: Copy> Clone for Shared<L, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L, B: Copy> Copy for Shared<L, B> {}

impl<L: SharedLock, B: Body> Workload for Shared<L, B> {
    type Shared = L;
    type Local = Local;

    fn shared(self) -> L {
        L::new(Record::default())
    }

    fn local(self, plan: &Plan, thread: usize) -> Local {
        let role = Role::of(plan.roles, thread);
        let rest = match (plan.roles, &role) {
            (Roles::Apart { rest, .. }, Role::Writes) => rest,
            _ => 0,
        };
        Local { role, chain: 1, rest, torn: 0 }
    }

    /// An optimistic read costs less than a look at the signal.
    fn batch(self, plan: &Plan) -> u32 {
        if B::TIGHT && plan.threads <= 2 { 16 } else { 1 }
    }

    #[inline(always)]
    fn operate<P: Probe>(self, lock: &L, local: &mut Local, probe: &mut P) -> Kind {
        let kind = local.role.next();
        let asked = probe.mark();
        let acquired = match kind {
            Kind::Read => lock.read(|data| {
                let acquired = probe.mark();
                local.look(self.body, data);
                acquired
            }),
            Kind::Write => lock.write(|data| {
                let acquired = probe.mark();
                change(self.body, data);
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
            local.chain = black_box(work(local.chain, local.rest));
        }
    }

    /// No write was lost, and nobody read half of one.
    fn check(lock: L, locals: &[Local], done: Counts) -> anyhow::Result<()> {
        let [count, mirror, _, last] = lock.into_inner();
        let total = done.write;
        ensure!(
            [count, mirror, last] == [total; 3],
            "the lock let two writers in at once: {total} writes, but the data behind it count {count}, {mirror} and \
             {last}",
        );
        ensure!(locals.iter().all(|l| l.torn == 0), "the lock let a reader in beside a writer: it saw half a write");
        Ok(())
    }
}
