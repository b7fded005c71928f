//! Describes threads that wait for one another.

use super::names::{brief, cut};
use crate::model::{Deadlock, Profile};

/// The number of waits of a cycle that are listed in a sentence.
const SHOWN: usize = 4;

/// Returns one sentence on each cycle.
pub(crate) fn sentences(profile: &Profile) -> impl Iterator<Item = String> {
    profile.deadlocks.iter().map(sentence)
}

/// Returns a summary without names: `2 threads wait for each other`.
pub(crate) fn summary(deadlock: &Deadlock) -> String {
    match deadlock.waits.len() {
        0 | 1 if deadlock.all_wait => {
            "the only thread that takes locks waits for one, so no thread can release it".to_owned()
        }
        all if deadlock.all_wait => format!("all {all} threads that take locks wait for one, so none can release one"),
        0 | 1 => "a thread waits for a lock that it has itself".to_owned(),
        2 => "2 threads wait for each other".to_owned(),
        more => format!("{more} threads wait for one another in a circle"),
    }
}

pub(crate) fn sentence(deadlock: &Deadlock) -> String {
    let waits = &deadlock.waits;
    let shown = waits.iter().take(SHOWN).enumerate().map(|(place, wait)| {
        let lock = brief(&wait.lock);
        match waits.get((place + 1) % waits.len()) {
            Some(next) if waits.len() > 1 && !deadlock.all_wait => {
                format!("`{}` waits for `{lock}`, which `{}` has", cut(&wait.thread), cut(&next.thread))
            }
            _ => format!("`{}` waits for `{lock}`", cut(&wait.thread)),
        }
    });
    let more = if waits.len() > SHOWN { "; …" } else { "" };
    format!("DEADLOCK: {}: {}{more}.", summary(deadlock), shown.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::advise;
    use crate::model::StuckWait;

    /// Returns the evidence and the change that the advice has on a deadlock.
    fn advised(deadlock: Deadlock) -> (Vec<String>, String) {
        let mut advice = advise(&Profile { deadlocks: vec![deadlock], ..Profile::default() });
        let finding = advice.findings.remove(0);
        (finding.evidence, finding.change.unwrap_or_default())
    }

    fn circle(threads: &[&str]) -> Deadlock {
        let wait = |thread: &&str| StuckWait {
            thread: (*thread).to_owned(),
            lock: format!("lock of {thread}"),
            ..StuckWait::default()
        };
        Deadlock { waits: threads.iter().map(wait).collect(), all_wait: false }
    }

    #[test]
    fn where_all_wait_nobody_is_named_as_owner() {
        let all = Deadlock { all_wait: true, ..circle(&["a", "b"]) };
        let (evidence, change) = advised(all.clone());
        let shown = sentence(&all) + &evidence.join("\n") + &change;
        assert!(shown.contains("all 2 threads that take locks wait for one") && !shown.contains("has it"), "{shown}");
    }

    #[test]
    fn each_waits_for_the_next_and_the_last_for_the_first() {
        let shown = sentence(&circle(&["a 1", "b 2"]));
        assert_eq!(
            shown,
            "DEADLOCK: 2 threads wait for each other: `a 1` waits for `lock of a 1`, which `b 2` has; `b 2` waits for \
             `lock of b 2`, which `a 1` has."
        );
        let shown = sentence(&circle(&["a", "b", "c", "d", "e"]));
        assert!(shown.starts_with("DEADLOCK: 5 threads wait for one another in a circle: `a` waits"), "{shown}");
        assert!(shown.ends_with("which `e` has; …."), "{shown}");
    }

    #[test]
    fn one_alone_has_the_lock_itself() {
        let mut alone = circle(&["a 1"]);
        (alone.waits[0].place, alone.waits[0].wait_ns) = (Some("twice (x.c:7)".to_owned()), Some(3_000_000_000));
        alone.waits[0].taken = Some("once (x.c:5)".to_owned());
        let shown = sentence(&alone);
        assert_eq!(shown, "DEADLOCK: a thread waits for a lock that it has itself: `a 1` waits for `lock of a 1`.");
        let (evidence, change) = advised(alone);
        assert_eq!(
            evidence,
            ["`a 1` has waited for 3.00 s for `lock of a 1` in twice (x.c:7); `a 1` has it since once (x.c:5)"]
        );
        assert!(change.contains("RECURSIVE"));
    }
}
