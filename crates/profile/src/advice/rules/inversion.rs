//! Locks taken in both orders: a deadlock that has not happened yet.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::template::context;

pub(super) const NAME: &str = "inversion";
/// The number of pairs that are named; further ones are only counted.
const NAMED: usize = 3;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let inversions = &context.profile.inversions;
    let Some(first) = inversions.first() else { return Vec::new() };
    let pairs = inversions.iter().take(NAMED).map(|pair| {
        let [a, b] = [pair.a, pair.b].map(|lock| context.lock_name(lock));
        let [b_under_a, a_under_b] = [pair.b_under_a, pair.a_under_b].map(|site| context.site_name(site));
        context! { a, b, b_under_a, a_under_b }
    });
    let (pairs, more) = (pairs.collect::<Vec<_>>(), inversions.len().saturating_sub(NAMED));
    vec![Finding {
        locks: vec![first.a, first.b],
        sites: vec![first.b_under_a, first.a_under_b],
        ..context.finding(NAME, 0, context! { pairs, more })
    }]
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::model::Inversion;

    #[test]
    fn both_orders_are_a_hazard() {
        let mut profile = quiet();
        let [a, b] = [10, 20].map(|number| lock_with_site(&mut profile, usage(number, 0, 0, 50)));
        assert_eq!(fired(&profile), [""; 0]);
        profile.inversions = vec![Inversion { a, b, b_under_a: b, a_under_b: a }];
        assert_eq!(fired(&profile), ["inversion"]);
    }
}
