//! Locks taken in an order that leads back to its beginning: a deadlock that has not happened yet.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::model::{CycleStep, LockId};
use crate::template::context;

pub(super) const NAME: &str = "cycle";
/// The number of cycles that are named; further ones are only counted.
const NAMED: usize = 3;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let cycles = &context.profile.cycles;
    let Some(first) = cycles.first() else { return Vec::new() };
    let named = cycles.iter().take(NAMED).map(|cycle| {
        let order = |(step, taken): (&CycleStep, LockId)| {
            let [held, taken] = [step.held, taken].map(|lock| context.lock_name(lock));
            context! { held, taken, place => context.site_name(step.taken_at) }
        };
        cycle.orders().map(order).collect::<Vec<_>>()
    });
    let (named, more) = (named.collect::<Vec<_>>(), cycles.len().saturating_sub(NAMED));
    vec![Finding {
        locks: first.steps.iter().map(|step| step.held).collect(),
        sites: first.steps.iter().map(|step| step.taken_at).collect(),
        ..context.finding(NAME, 0, context! { cycles => named, more })
    }]
}

#[cfg(test)]
mod tests {
    use crate::advice::advise;
    use crate::advice::sample::{cycle, fired, lock_with_site, quiet, usage};

    #[test]
    fn orders_that_lead_back_are_a_hazard() {
        let mut profile = quiet();
        let [a, b, c] = [10, 20, 30].map(|number| lock_with_site(&mut profile, usage(number, 0, 0, 50)));
        assert_eq!(fired(&profile), [""; 0]);
        profile.cycles = vec![cycle(&[a, b])];
        assert_eq!(fired(&profile), ["cycle"]);
        let finding = advise(&profile).findings.remove(0);
        assert!(finding.title.starts_with("`lock0` and `lock1` are taken in both orders"), "{}", finding.title);
        profile.cycles = vec![cycle(&[a, b, c])];
        let finding = advise(&profile).findings.remove(0);
        assert!(finding.title.starts_with("`lock0`, `lock1`, `lock2` are taken in a cycle: 3 threads"), "{finding:?}");
        let evidence = "`lock1` is taken under `lock0` in function1 (file1.c:7), `lock2` under `lock1` in function2 \
                        (file2.c:7), and `lock0` under `lock2` in function0 (file0.c:7)";
        assert_eq!(finding.evidence, [evidence]);
        assert_eq!((finding.locks, finding.sites), (vec![a, b, c], vec![b, c, a]));
    }
}
