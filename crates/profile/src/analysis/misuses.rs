//! What threads did with locks that POSIX forbids.

use super::Work;
use super::sites::Sites;
use crate::model::{Misuse, MisuseKind, Profile};
use std::collections::HashSet;
use turnwise_recording::{DESTROYED_HELD, ENDED_WITH, RELEASED_FREE, RELEASED_OF_ANOTHER, WAITED_WITHOUT};

/// Returns each once, however many threads did it at the same place.
pub(super) fn all(work: &mut Work, sites: &Sites, profile: &Profile) -> Vec<Misuse> {
    let recording = work.recording;
    let thread = |number: u32| Some(number).filter(|number| (*number as usize) < recording.threads.len());
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for misuse in &recording.misuses {
        let kind = match misuse.what {
            RELEASED_OF_ANOTHER => MisuseKind::ReleasedOfAnother,
            RELEASED_FREE => MisuseKind::ReleasedFree,
            DESTROYED_HELD => MisuseKind::DestroyedHeld,
            WAITED_WITHOUT => MisuseKind::WaitedWithout,
            ENDED_WITH => MisuseKind::EndedWith,
            _ => continue,
        };
        let Some(lock) = recording.locks.get(misuse.lock as usize) else { continue };
        let Some(by) = thread(misuse.thread) else { continue };
        if !seen.insert((misuse.what, misuse.lock, misuse.stack, misuse.holder_site)) {
            continue;
        }
        let lock_id = sites.lock_id(misuse.lock);
        let listed = lock_id.and_then(|id| profile.locks.get(id as usize)).map(|lock| lock.name.clone());
        let variable = || work.symbols.variable(super::place_of(lock)).map(|found| found.name);
        let name = listed.or_else(variable).unwrap_or_else(|| format!("{:#x}", lock.address));
        let holder = misuse.holder.checked_sub(1).and_then(thread);
        found.push(Misuse {
            kind,
            lock: name,
            lock_id,
            thread: by,
            stack: work.stack(misuse.stack),
            holder,
            taken_at: holder.and_then(|_| sites.id((misuse.lock, misuse.holder_site))),
        });
    }
    found
}
