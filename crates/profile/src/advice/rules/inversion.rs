//! Locks taken in both orders: a deadlock that has not happened yet.

use crate::advice::Finding;
use crate::advice::context::Context;

pub(super) const NAME: &str = "inversion";
/// The number of pairs that are named; further ones are only counted.
const NAMED: usize = 3;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let inversions = &context.profile.inversions;
    let Some(first) = inversions.first() else { return Vec::new() };
    let pairs = inversions.iter().take(NAMED).map(|pair| {
        let (a, b) = (context.lock_name(pair.a), context.lock_name(pair.b));
        let (one, other) = (context.site_name(pair.b_under_a), context.site_name(pair.a_under_b));
        format!("{b} is taken under {a} in {one}, and {a} under {b} in {other}")
    });
    let mut evidence: Vec<String> = pairs.collect();
    if inversions.len() > NAMED {
        evidence.push(format!("and {} more pairs", inversions.len() - NAMED));
    }
    let (a, b) = (context.lock_name(first.a), context.lock_name(first.b));
    vec![Finding {
        rule: NAME,
        title: format!(
            "{a} and {b} are taken in both orders: two threads that do so at once wait for each other forever"
        ),
        evidence,
        change: Some("take them in one order everywhere, or the second by trylock".to_owned()),
        locks: vec![first.a, first.b],
        sites: vec![first.b_under_a, first.a_under_b],
        ..Finding::default()
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
