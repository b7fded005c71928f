//! Readable names of locks, and frames that are better omitted from a call site.

use super::Work;
use super::lock_classes::is_lock_class;
use super::sites::Sites;
use crate::model::{Frame, FrameId, Profile};
use crate::output::names::placed;
use crate::symbols::Symbols;
use std::collections::HashMap;

/// Returns the frames of a call site, by its return address, without those of lock classes at its inner end; at least
/// one stays.
pub fn call_site(symbols: &mut Symbols, address: u64) -> Vec<FrameId> {
    let frames = symbols.of_return_address(address);
    let first = frames.iter().position(|id| !is_lock_class(symbols.frame(*id))).unwrap_or(0);
    symbols.distinguished(frames[first..].to_vec(), address)
}

/// Returns whether a function only takes a lock for others, by its name: `Mutex::lock`, `pthread_mutex_lock`,
/// `lock_cache`. A report that shows such a site also shows its callers.
pub fn is_wrapper(frame: &Frame) -> bool {
    const WORDS: &[&str] = &["lock", "trylock", "acquire", "enter", "rdlock", "wrlock", "wait", "timedwait"];
    let last = frame
        .function
        .split(" @")
        .next()
        .unwrap_or_default()
        .rsplit("::")
        .next()
        .unwrap_or(&frame.function)
        .to_ascii_lowercase();
    let plain: String = last.split('<').next().unwrap_or_default().to_owned();
    is_lock_class(frame) || plain.split('_').any(|word| WORDS.contains(&word)) || plain.ends_with("lock")
}

/// Fills in the locks' names and where they were made.
pub(super) fn fill(work: &mut Work, sites: &Sites, profile: &mut Profile) {
    for (index, number) in sites.lock_numbers().iter().enumerate() {
        let created = super::copy(work, *number).map_or(0, |lock| lock.created);
        let created = work.stack(created);
        let made = created.and_then(|stack| place(work, stack));
        let lock = &profile.locks[index];
        let variable = Some(lock.name.clone()).filter(|name| !name.is_empty());
        let taken = || {
            let site = sites.of_lock(*number).next().and_then(|site| sites.id(site.key))?;
            let frame = *profile.sites.get(site as usize)?.frames.first()?;
            Some(format!("taken in {}", shown(work.symbols.frame(frame))))
        };
        let name = variable.or_else(|| made.map(|place| format!("made in {place}"))).or_else(taken);
        let name = name.unwrap_or_else(|| format!("{:#x}", lock.address));
        let lock = &mut profile.locks[index];
        (lock.name, lock.created) = (name, created);
    }
    number(profile.locks.iter_mut().map(|lock| (lock.address, &mut lock.name)).collect());
    number(profile.conditions.iter_mut().map(|condition| (condition.address, &mut condition.name)).collect());
}

/// Distinguishes items of the same name: by address, the second is `name #2`, the third `name #3`.
fn number(mut named: Vec<(u64, &mut String)>) {
    named.sort_by_key(|(address, _)| *address);
    let mut seen: HashMap<String, u32> = HashMap::new();
    for (_, name) in named {
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            *name += &format!(" #{times}");
        }
    }
}

/// Returns whether a function only makes locks for others, by its name: `Mutex::Mutex`, `lock_init`.
fn makes_locks(frame: &Frame) -> bool {
    let last = frame.function.rsplit("::").next().unwrap_or(&frame.function).to_ascii_lowercase();
    last.ends_with("init") || ["mutex", "lock", "cond"].iter().any(|word| last.contains(word))
}

/// Returns the function in which a stack begins, ignoring wrappers.
fn place(work: &Work, stack: u32) -> Option<String> {
    let frames = work.stacks.get(stack as usize)?.iter().map(|id| work.symbols.frame(*id));
    let own = frames.clone().find(|frame| !is_lock_class(frame) && !makes_locks(frame));
    own.or_else(|| frames.clone().next()).map(shown)
}

/// Formats a frame as `function (file:line)`.
pub fn shown(frame: &Frame) -> String {
    placed(frame, &str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered_by_address() {
        let mut names = ["made in f", "cache", "made in f", "made in f"].map(str::to_owned);
        number([40, 30, 20, 10].into_iter().zip(&mut names).collect());
        assert_eq!(names, ["made in f #3", "cache", "made in f #2", "made in f"]);
    }
}
