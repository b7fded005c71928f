//! The files that addresses of a live view are in: those that are mapped, and those that were unloaded.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};
use turnwise_futex_trace::Living;
use turnwise_live::layout::STILL_LOADED;
use turnwise_live::{Channel, Unloaded, Unloads, unnumbered};
use turnwise_profile::symbols::{Identity, Module};

/// Repeated inspections take at most one part in this many of the time.
const PART: u32 = 20;
/// The minimum time between two inspections.
const APART: Duration = Duration::from_millis(20);

pub(crate) struct Modules {
    pid: u32,
    pub(crate) living: Living,
    /// The number of unloads before the process was inspected.
    at: u64,
    unloads: Unloads,
    /// Those of the modules still loaded, as far as the program's waits show, in whose place it had others then.
    replaced: Vec<usize>,
    read: Instant,
    took: Duration,
}

impl Modules {
    /// Inspects a process; `reported` returns what it has unloaded.
    pub(crate) fn of(pid: u32, reported: impl Fn() -> Unloads) -> Modules {
        let (read, before) = (Instant::now(), reported());
        let living = Living::of(pid);
        let replaced = replaced(&before, living.modules());
        let unloads = Unloads::default();
        let mut modules = Modules { pid, living, at: before.count, unloads, replaced, read, took: read.elapsed() };
        modules.learn(reported());
        modules.took = read.elapsed();
        modules
    }

    /// Returns the modules of a process about which no data are available.
    pub(crate) fn none() -> Modules {
        Modules::of(u32::MAX, Unloads::default)
    }

    /// Takes the current unloads; returns whether they are new.
    pub(crate) fn learn(&mut self, mut unloads: Unloads) -> bool {
        for index in &self.replaced {
            let module = unloads.modules.get_mut(*index).filter(|module| module.at == STILL_LOADED);
            module.into_iter().for_each(|module| module.at = self.at);
        }
        let is_news = unloads != self.unloads;
        self.unloads = unloads;
        is_news
    }

    /// Returns whether the process was inspected at this number of unloads.
    pub(crate) fn is_of(&self, unloads: u64) -> bool {
        self.at == unloads
    }

    /// Returns whether no module has been unloaded since the process was inspected.
    pub(crate) fn is_new(&self) -> bool {
        self.is_of(self.unloads.count)
    }

    /// Returns whether an address is in a known file.
    pub(crate) fn has(&self, address: u64) -> bool {
        let is_in = |range: &Range<u64>| range.contains(&unnumbered(address));
        self.living.modules().iter().any(|module| is_in(&module.range))
            || self.unloads.modules.iter().any(|module| is_in(&module.range))
    }

    /// Returns whether it is time for another inspection.
    pub(crate) fn may_look_again(&self) -> bool {
        self.read.elapsed() > (PART * self.took).max(APART)
    }

    /// Inspects the process again. If it has ended, the data read before stay.
    pub(crate) fn look_again(&mut self, reported: impl Fn() -> Unloads) {
        let again = Modules::of(self.pid, reported);
        (self.read, self.took) = (again.read, again.took);
        if !again.living.modules().is_empty() {
            *self = again;
        }
    }

    /// Returns the address with the number of its module at this number of unloads.
    pub(crate) fn numbered(&self, address: u64, unloads: u64) -> u64 {
        self.unloads.numbered(address, unloads)
    }

    /// Returns the call stack of a sleeping thread, innermost first.
    pub(crate) fn stack(&mut self, tid: u32) -> Vec<u64> {
        let (stack, now) = (self.living.stack(tid), self.unloads.count);
        stack.into_iter().map(|address| self.numbered(address, now)).collect()
    }

    /// Returns all of them, those of one place in order of loading ([`turnwise_profile::symbols::Symbols::in_order`]).
    /// Modules that may differ from the inspected ones are left out.
    pub(crate) fn all(&self) -> Vec<Module> {
        let unloads = &self.unloads;
        let is_sure = |module: &Module| !overlaps(&module.range, &unloads.unsure);
        let is_there = |module: &&Module| {
            let is_old = |gone: &Unloaded| gone.at > self.at && overlaps(&gone.range, &module.range);
            !unloads.modules.iter().any(is_old)
        };
        let gone = unloads.modules.iter().map(|gone| self.unloaded(gone));
        gone.chain(self.living.modules().iter().filter(is_there).cloned()).filter(is_sure).collect()
    }

    fn unloaded(&self, gone: &Unloaded) -> Module {
        let is_there =
            |module: &&Module| (&module.range, module.base) == (&gone.range, gone.base) && is_its_file(module, gone);
        if let Some(module) = self.living.modules().iter().find(is_there) {
            return module.clone();
        }
        let identity = match gone.build_id.is_empty() {
            true => Identity::Unknown,
            false => Identity::BuildId(gone.build_id.clone()),
        };
        let path =
            if gone.path.is_absolute() { self.living.outside(&gone.path) } else { Path::new("?").join(&gone.path) };
        Module { range: gone.range.clone(), base: gone.base, path, identity }
    }
}

fn overlaps(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns the modules that the program's waits saw, and in whose place an inspection after that found another.
fn replaced(before: &Unloads, living: &[Module]) -> Vec<usize> {
    let is_replaced = |seen: &Unloaded| {
        let mut there = living.iter().filter(|module| overlaps(&module.range, &seen.range));
        seen.at == STILL_LOADED && there.any(|module| !is_its_file(module, seen))
    };
    (0..before.modules.len()).filter(|index| is_replaced(&before.modules[*index])).collect()
}

/// Returns whether the unloaded module is the inspected one: by its build id, or by its name if it has none.
fn is_its_file(module: &Module, gone: &Unloaded) -> bool {
    let build_id = match &module.identity {
        Identity::Open(file) => Identity::of(file),
        other => other.clone(),
    };
    match build_id {
        Identity::BuildId(id) => id == gone.build_id,
        _ => gone.build_id.is_empty() && module.path.file_name() == gone.path.file_name(),
    }
}

/// Returns what the process of a view has unloaded; empty, if it can no longer be read.
pub(crate) fn unloads_of(channel: &Channel) -> Unloads {
    channel.unloads().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_live::numbered;
    use turnwise_recording::{marked, unmarked};

    fn gone(path: &str, at: u64) -> Unloaded {
        Unloaded { range: 0x1000..0x2000, base: 0x1000, path: path.into(), build_id: vec![1], at }
    }

    #[test]
    fn both_sides_number_alike() {
        for number in [1, 2, 255] {
            assert_eq!(numbered(0x7f00_1234, number), marked(0x7f00_1234, number));
            assert_eq!(unmarked(numbered(0x7f00_1234, number)), (0x7f00_1234, number));
        }
    }

    #[test]
    fn what_was_unloaded_comes_before_what_is_there_and_what_may_be_another_is_left_out() {
        let mut modules = Modules::none();
        let names = |modules: &Modules| {
            modules.all().iter().map(|module| module.path.display().to_string()).collect::<Vec<_>>()
        };
        assert!(names(&modules).is_empty());
        let news = Unloads { count: 2, modules: vec![gone("/a", 1), gone("/b", 2)], unsure: 0..0 };
        assert!(modules.learn(news.clone()) && !modules.learn(news.clone()) && !modules.is_new());
        assert_eq!(names(&modules), ["/a", "/b"]);
        assert!(modules.has(0x1800) && modules.has(numbered(0x1800, 2)) && !modules.has(0x2000));
        let reported = [0, 1, 2].map(|count| modules.numbered(0x1800, count));
        assert_eq!(reported, [0x1800, numbered(0x1800, 1), numbered(0x1800, 2)]);
        assert!(modules.learn(Unloads { unsure: 0x1f00..0x3000, ..news }));
        assert!(names(&modules).is_empty(), "nothing there is sure");
    }

    #[test]
    fn a_module_that_a_wait_saw_was_unloaded_if_an_inspection_finds_another_there() {
        let seen = |at| Unloads { modules: vec![gone("/a", at), gone("/b", STILL_LOADED)], ..Unloads::default() };
        let there = |id| Module {
            range: 0x1800..0x3000,
            base: 0x1000,
            path: "/b".into(),
            identity: Identity::BuildId(vec![id]),
        };
        assert_eq!(replaced(&seen(1), &[there(1)]), [0; 0], "its own file");
        assert_eq!(replaced(&seen(1), &[there(2)]), [1]);
        assert_eq!(replaced(&seen(STILL_LOADED), &[there(1), there(2)]), [0, 1]);
        let mut modules = Modules { replaced: vec![1], at: 3, ..Modules::none() };
        modules.learn(seen(1));
        assert_eq!(modules.numbered(0x1900, 3), numbered(0x1900, 2), "an address of what has been there since");
    }

    #[test]
    fn a_module_that_was_unloaded_since_the_look_is_not_the_one_that_is_there() {
        let mut modules = Modules::of(std::process::id(), Unloads::default);
        let here = a_module_that_was_unloaded_since_the_look_is_not_the_one_that_is_there as *const () as u64;
        let own = |modules: &Modules| modules.all().into_iter().filter(|module| module.range.contains(&here)).count();
        assert_eq!(own(&modules), 1);
        modules.learn(Unloads {
            count: 1,
            modules: vec![Unloaded { range: here..here + 1, ..gone("/old", 1) }],
            unsure: 0..0,
        });
        assert_eq!(own(&modules), 1, "only the one that was unloaded");
        modules.at = 1;
        assert_eq!(own(&modules), 2, "that, and what has been seen there since");
    }
}
