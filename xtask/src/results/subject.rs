//! The subjects of measurement: a page in `docs/results` each.

use std::path::{Path, PathBuf};

/// A page.
pub(crate) struct Subject {
    /// The name of its files.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) source: Source,
}

/// Where its report comes from.
pub(crate) enum Source {
    /// `turnwise-lab bench` with these arguments; its page has the lock of this name in full, or the speeds of all.
    Bench(Option<&'static str>, &'static [&'static str]),
    /// `turnwise-lab reproduce`.
    Reproduce,
    /// `cargo xtask programs`.
    Programs,
}

impl Subject {
    /// Returns its file in a folder of reports.
    pub(crate) fn report(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).with_extension("json")
    }

    /// Returns the arguments of `turnwise-lab`, if that measures it.
    pub(crate) fn arguments(&self) -> Option<Vec<&'static str>> {
        match self.source {
            Source::Bench(_, arguments) => Some([&["bench"], arguments].concat()),
            Source::Reproduce => Some(vec!["reproduce"]),
            Source::Programs => None,
        }
    }

    /// Returns a description of its picture, for readers who do not see it.
    pub(crate) fn shows(&self) -> &'static str {
        match self.source {
            Source::Bench(..) => "Speed of each lock against the reference, scenario by scenario",
            Source::Reproduce => "Our figures over the published ones, table by table",
            Source::Programs => "Speed of each program on Turnwise's locks against the C library's",
        }
    }
}

const fn bench(
    name: &'static str,
    title: &'static str,
    lock: Option<&'static str>,
    arguments: &'static [&'static str],
) -> Subject {
    Subject { name, title, source: Source::Bench(lock, arguments) }
}

/// All pages, in the order in which they are measured.
pub(crate) static SUBJECTS: &[Subject] = &[
    bench("mutex", "Mutexes", Some("mutex"), &["mutex", "--lock", "all", "--samples", "7"]),
    bench("rwlock", "Readers-writer locks", Some("rwsem"), &["rwlock"]),
    bench("seqlock", "Sequence locks", Some("seqrwlock"), &["seqlock"]),
    bench("refcount", "A count and a lock in one word", Some("lockref"), &["refcount"]),
    bench("spin", "Spin locks", None, &["spin"]),
    bench("vfs", "Look-ups in a file system", Some("turnwise"), &["vfs"]),
    bench("lineage", "Published locks before and after their change", None, &["lineage"]),
    bench(
        "uncontended",
        "Lock and unlock alone",
        Some("mutex"),
        &["mutex", "--scenario", "uncontended", "--against", "std", "--samples", "15"],
    ),
    bench(
        "on-cpu",
        "Asking whether the owner runs",
        Some("mutex"),
        &["mutex", "--scenario", "on-cpu", "--samples", "5"],
    ),
    Subject { name: "reproduction", title: "The papers, reproduced", source: Source::Reproduce },
    Subject { name: "programs", title: "Unmodified programs", source: Source::Programs },
];
