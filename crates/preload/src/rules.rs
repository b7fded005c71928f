//! Finds the rule that applies to a lock under a policy file. The program `turnwise` has compiled the file to a table;
//! its path is in `TURNWISE_POLICY_TABLE`.
//!
//! The rule is decided once per lock: when `pthread_mutex_init` makes it, or at the first call on a static initialiser.
//! The decision stays in the lock's own bytes:
//!
//! | bits of `cached_rule` | meaning |
//! |---|---|
//! | 0..8 | 1 + the number of the policy; 0: not decided |
//! | 8..32 | 1 + the number of the rule; 0: no rule matches, the default applies |
//!
//! ORDERING rules.cached_rule: all accesses are relaxed. Nothing is published with a decision: a thread that finds none
//! makes one from its own knowledge, and racing threads all take the first decision.

use crate::file;
use crate::policy;
use core::ffi::CStr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::sync::atomic::{AtomicPtr, AtomicU32};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use turnwise_interpose::{find, program_path, return_behind, zeroed};
use turnwise_live::Values;
use turnwise_live::writer::FileRule;
use turnwise_preload_abi::libraries::{RECORDER, is_library};
use turnwise_preload_abi::{Fault, Lock, ModuleOffset, Policy, RULES_MAX, Table, fingerprint};

/// The address to which a call of one of our functions returns; 0: unknown.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Caller(pub(crate) usize);

impl Caller {
    /// An unknown caller: rules about calls do not apply.
    pub(crate) const UNKNOWN: Caller = Caller(0);
}

/// The longest path of a program that is stored whole.
const PATH_MAX: usize = 4096;

/// The table in force, and its contents for this process.
struct Rules {
    table: Table<'static>,
    /// One bit for each rule that applies to this program.
    active: [u64; RULES_MAX.div_ceil(64)],
    /// The program's path.
    program: [u8; PATH_MAX],
    program_length: usize,
}

static RULES: AtomicPtr<Rules> = AtomicPtr::new(core::ptr::null_mut());
/// The number of locks that use the default, and that use each rule.
static COUNTS: [AtomicU32; 1 + RULES_MAX] = [const { AtomicU32::new(0) }; 1 + RULES_MAX];

/// Why a table cannot be used.
#[derive(Clone, Copy)]
pub(crate) enum Unusable {
    /// The system could not read it.
    Errno(Errno),
    Table(Fault),
}

fn rules() -> Option<&'static Rules> {
    // ORDERING rules.table: pairs with the AcqRel in `load`: the pointer's target is complete.
    // SAFETY: the pointer is null, or `load` made it, and its target is never freed.
    unsafe { RULES.load(Acquire).as_ref() }
}

/// Returns the policy of a lock at `object`; `None`: the C library's.
#[inline]
pub(crate) fn policy_of(cached_rule: &AtomicU32, object: usize, caller: Caller) -> Option<Lock> {
    let known = cached_rule.load(Relaxed);
    unpack(if known != 0 { known } else { first(cached_rule, object, caller) })
}

/// Decides the rule of a lock that is being initialised; returns the value for its `cached_rule`.
pub(crate) fn decide_new(object: usize, caller: Caller) -> u32 {
    let decision = decide(object, caller);
    count(decision);
    decision
}

/// Returns the policy of a decision; `None`: the C library's.
#[inline]
pub(crate) fn unpack(decision: u32) -> Option<Lock> {
    Lock::ALL.get((decision as u8).wrapping_sub(1) as usize).copied()
}

#[cold]
fn first(cached_rule: &AtomicU32, object: usize, caller: Caller) -> u32 {
    let decision = decide(object, caller);
    match cached_rule.compare_exchange(0, decision, Relaxed, Relaxed) {
        Ok(_) => {
            count(decision);
            decision
        }
        Err(theirs) => theirs,
    }
}

fn count(decision: u32) {
    if let Some(count) = COUNTS.get((decision >> 8) as usize) {
        count.fetch_add(1, Relaxed);
    }
}

/// The decision for the C library where no rule applies.
const LIBC: u32 = 1 + Policy::Libc.number() as u32;

fn decide(object: usize, caller: Caller) -> u32 {
    let Some(rules) = rules() else { return if policy::stands_aside() { LIBC } else { 1 } };
    let program = rules.program.get(..rules.program_length).unwrap_or_default();
    let caller = call_of_program(caller);
    // The return address may already belong to the next function; the call does not.
    let call = if caller.0 == 0 { None } else { place(caller.0 - 1, program) };
    let active = |rule: usize| rules.active.get(rule / 64).is_some_and(|bits| bits >> (rule % 64) & 1 != 0);
    let rule = rules.table.decide(place(object, program), call, active);
    let policy = rule.and_then(|rule| rules.table.rule(rule)).map_or(rules.table.default_policy(), |rule| rule.policy);
    (1 + u32::from(policy.number())) | (rule.map_or(0, |rule| 1 + rule as u32) << 8)
}

/// Returns the module and offset of an address; the program is identified by the file name `program`. `None`: the
/// address is in no module, or in this library.
fn place(address: usize, program: &'static [u8]) -> Option<ModuleOffset<'static>> {
    let module = find(address).filter(|module| !module.is_own())?;
    // SAFETY: the module stays loaded during this call; the caller does not keep the name beyond it.
    let path = unsafe { module.name() }.to_bytes();
    let path = if path.is_empty() { program } else { path };
    Some(ModuleOffset {
        // A module without headers in memory is identified by name only.
        fingerprint: fingerprint(&module).unwrap_or(0),
        address: address.wrapping_sub(module.base) as u64,
        module: path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
    })
}

/// Returns the program's call that led to ours. Rules apply to it, and the recorder may be in between: the program
/// calls the recorder, which calls this library. This happens once in a lock's life, so the stack may be unwound.
fn call_of_program(caller: Caller) -> Caller {
    // SAFETY: the module has called us, so it is loaded.
    let recorder = find(caller.0).filter(|module| is_library(unsafe { module.name() }.to_bytes(), RECORDER));
    match recorder {
        Some(recorder) => return_behind(&recorder, caller.0).map_or(Caller::UNKNOWN, Caller),
        None => caller,
    }
}

/// Maps the table at `path`, once.
///
/// # Errors
/// The file cannot be read, or is not a table.
pub(crate) fn load(path: &CStr) -> Result<(), Unusable> {
    if rules().is_some() {
        return Ok(());
    }
    let bytes = file::map(path, OFlags::RDONLY, ProtFlags::READ, MapFlags::PRIVATE).map_err(Unusable::Errno)?;
    // SAFETY: `bytes` is mapped for reading, or empty; turnwise never changes a table in place.
    let bytes = unsafe { &*bytes };
    let table = Table::parse(bytes).map_err(Unusable::Table)?;
    let made: *mut Rules = zeroed(size_of::<Rules>()).ok_or(Unusable::Errno(Errno::NOMEM))?.as_ptr().cast();
    // SAFETY: the mapping is as large as this type, page-aligned, and not shared yet.
    unsafe { made.write(Rules { table, active: [0; _], program: [0; _], program_length: 0 }) };
    // SAFETY: just written, and still not shared.
    unsafe { &mut *made }.inspect_program();
    // ORDERING rules.table: publishes what `made` points to. A thread that loses the race reads the winner's, and leaks
    // its own mapping, which happens at most once per thread.
    let _ = RULES.compare_exchange(core::ptr::null_mut(), made, AcqRel, Acquire);
    Ok(())
}

impl Rules {
    fn inspect_program(&mut self) {
        self.program_length = program_path(&mut self.program).len();
        let program = self.program.get(..self.program_length).unwrap_or_default();
        for number in 0..self.table.rules() {
            if self.table.rule(number).is_some_and(|rule| rule.holds_in(program)) {
                self.active[number / 64] |= 1 << (number % 64);
            }
        }
    }
}

/// Returns 1 plus the number of the rule that applies to a lock; 0: none does.
pub(crate) fn number(cached_rule: &AtomicU32) -> u32 {
    cached_rule.load(Relaxed) >> 8
}

/// Returns the settings for waits of the rule that applies to a lock.
pub(crate) fn settings(cached_rule: &AtomicU32) -> Values {
    let rule = number(cached_rule).checked_sub(1);
    let set = rules().zip(rule).map(|(rules, rule)| rules.table.settings(rule as usize));
    Values::of_rule(set.unwrap_or_default())
}

/// Returns the settings of the rule of this number, for the live view; `None`: there are fewer rules.
pub(crate) fn that_set(number: usize) -> Option<FileRule> {
    let rule = rules()?.table.rule(number)?;
    Some(FileRule { values: Values::of_rule(rule.settings), label: short(rule.label) })
}

/// Returns a rule's label without the folder of its file, and without its lock.
fn short(label: &[u8]) -> &[u8] {
    let position = |text: &[u8], what: &[u8]| text.windows(what.len()).position(|part| part == what);
    let file = label.get(..position(label, b" (").unwrap_or(0)).unwrap_or_default();
    let start = file.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let end = label.iter().rposition(|byte| *byte == b':').filter(|end| *end > file.len()).unwrap_or(label.len());
    label.get(start..end).unwrap_or(label)
}

/// Calls `tell` for each rule of the table and for the default: passes the number of locks that use it, the name of the
/// policy, and the rule's label (`None`: the default).
pub(crate) fn for_each_count(mut tell: impl FnMut(u32, &'static str, Option<&'static [u8]>)) {
    let Some(rules) = rules() else { return };
    for (number, count) in COUNTS[1..].iter().enumerate() {
        let Some(rule) = rules.table.rule(number) else { break };
        tell(count.load(Relaxed), rule.policy.name(), Some(rule.label));
    }
    tell(COUNTS[0].load(Relaxed), rules.table.default_policy().name(), None);
}

/// Returns the name of the default policy, and the number of rules.
pub(crate) fn summary() -> Option<(&'static str, usize)> {
    rules().map(|rules| (rules.table.default_policy().name(), rules.table.rules()))
}
