//! Whether the two agree: after each step its result, and then the whole tree.

use crate::drive::{Real, seen};
use crate::reference::{Id, ROOT, Reference};
use crate::steps::{Gave, Outcome, Step};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use turnwise::platform::Native;
use turnwise_vfs::inode::Kind;
use turnwise_vfs::{Config, LockSet, Metal, Vfs};

/// The limit of pages: few, so that they run out.
const PAGES: usize = 12;
/// The state is compared after this many steps.
const LOOK_EVERY: usize = 8;

/// A disagreement.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) step: usize,
    pub(crate) what: String,
}

/// Takes the steps on both.
pub(crate) fn run<L: LockSet<Native>>(steps: &[Step]) -> Result<(), Wrong> {
    let at = std::cell::Cell::new(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| take_all::<L>(steps, &at)));
    let what = match outcome {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(what)) => what,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        }
    };
    Err(Wrong { step: at.get(), what })
}

fn take_all<L: LockSet<Native>>(steps: &[Step], at: &std::cell::Cell<usize>) -> Result<(), String> {
    let config =
        Config { data_bytes: Some(PAGES as u64 * 4096), cache_bytes: 4096, buckets_log2: 4, ..Config::default() };
    let vfs = Vfs::<Metal, L>::new(config);
    let mut real = Real::new(&vfs);
    let mut reference = Reference::new(PAGES);
    for (number, step) in steps.iter().enumerate() {
        at.set(number);
        let (found, wanted) = (real.take(step), reference.take(step));
        same_outcome(&found, &wanted).map_err(|what| format!("{step:?}: {what}"))?;
        if number % LOOK_EVERY == 0 || number + 1 == steps.len() {
            same_state(&real, &reference)?;
        }
    }
    everything_goes(&mut real, &mut reference)
}

fn same_outcome(found: &Outcome, wanted: &Outcome) -> Result<(), String> {
    let same = match (found, wanted) {
        // Linux shows where it was; the reference only knows that it was removed.
        (Ok(Gave::Bytes(found)), Ok(Gave::Bytes(wanted))) if wanted == b"(deleted)" => found.ends_with(b" (deleted)"),
        (found, wanted) => found == wanted,
    };
    if same { Ok(()) } else { Err(format!("gives {found:?}, not {wanted:?}")) }
}

fn same_state<L: LockSet<Native>>(real: &Real<'_, L>, reference: &Reference) -> Result<(), String> {
    let mut inodes = BTreeMap::new();
    same_below(real, reference, b"", ROOT, &mut inodes)?;
    let usage = real.vfs.usage();
    let pages: usize = reference.nodes.values().map(|node| node.pages.len()).sum();
    let (found, wanted) = ((usage.inodes_used, usage.pages_used), (reference.counted() as u64, pages as u64));
    if found == wanted { Ok(()) } else { Err(format!("inodes and pages in use: {found:?}, not {wanted:?}")) }
}

fn same_below<L: LockSet<Native>>(
    real: &Real<'_, L>,
    reference: &Reference,
    path: &[u8],
    id: Id,
    inodes: &mut BTreeMap<u64, Id>,
) -> Result<(), String> {
    let shown = if path.is_empty() { b"/" } else { path };
    let node = &reference.nodes[&id];
    let place = real.at(shown).map_err(|errno| format!("{}: {errno:?}", String::from_utf8_lossy(shown)))?;
    let differs = |what: &str, found: &dyn std::fmt::Debug, wanted: &dyn std::fmt::Debug| {
        Err(format!("{} of {}: {found:?}, not {wanted:?}", what, String::from_utf8_lossy(shown)))
    };
    let (found, wanted) = (seen(&place.stat()), reference.seen(id));
    if found != wanted {
        return differs("stat", &found, &wanted);
    }
    if *inodes.entry(place.inode_number()).or_insert(id) != id {
        return differs("inode", &place.inode_number(), &"one of its own");
    }
    let d_path = real.d_path(&place);
    if d_path != shown {
        return differs("d_path", &String::from_utf8_lossy(&d_path), &String::from_utf8_lossy(shown));
    }
    match node.kind {
        Kind::File if real.content(shown) != node.data => differs("content", &"other bytes", &"these"),
        Kind::Directory => {
            let (found, wanted) = (real.names_in(shown), node.entries.keys().cloned().collect::<Vec<_>>());
            if found != wanted {
                return differs("entries", &found, &wanted);
            }
            node.entries
                .iter()
                .try_for_each(|(name, child)| same_below(real, reference, &[path, b"/", name].concat(), *child, inodes))
        }
        _ => Ok(()),
    }
}

/// Removes all of it, bottom up; then nothing must be left.
fn everything_goes<L: LockSet<Native>>(real: &mut Real<'_, L>, reference: &mut Reference) -> Result<(), String> {
    real.let_go();
    let mut next = vec![(Vec::new(), ROOT)];
    let mut paths = Vec::new();
    while let Some((path, id)) = next.pop() {
        for (name, child) in &reference.nodes[&id].entries {
            let path = [&path[..], b"/", name].concat();
            paths.push((path.clone(), reference.nodes[child].kind));
            next.push((path, *child));
        }
    }
    for (path, kind) in paths.into_iter().rev() {
        let step = if kind == Kind::Directory { Step::Rmdir { path } } else { Step::Unlink { path } };
        real.take(&step).map_err(|errno| format!("{step:?} at the end: {errno:?}"))?;
    }
    let usage = real.vfs.usage();
    let left = (usage.inodes_used, usage.pages_used);
    if left == (1, 0) { Ok(()) } else { Err(format!("inodes and pages in the end: {left:?}, not (1, 0)")) }
}
