//! From a long sequence that fails to a short one.

use crate::steps::Step;

/// Leaves steps out, large pieces first, while the remainder still fails.
pub(crate) fn minimal(mut steps: Vec<Step>, fails: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut piece = steps.len().div_ceil(2);
    while piece > 0 {
        let mut from = 0;
        while from < steps.len() {
            let to = (from + piece).min(steps.len());
            let shorter = [&steps[..from], &steps[to..]].concat();
            if fails(&shorter) { steps = shorter } else { from = to }
        }
        piece /= 2;
    }
    steps
}

#[test]
fn what_does_not_matter_is_left_out() {
    let close = |slot| Step::Close { slot };
    let long: Vec<Step> = (0..40).map(close).collect();
    let short = minimal(long, |steps| steps.contains(&close(7)) && steps.contains(&close(31)));
    assert_eq!(short, [close(7), close(31)]);
}
