//! What a forecast says, in words.

use crate::figures::count;
use crate::model::{Profile, Scaling};
use crate::output::names;

/// One sentence for each design, on the lock that becomes the wall; then the model's error; then what it does not know.
#[must_use]
pub fn sentences(profile: &Profile, scaling: &Scaling) -> Vec<String> {
    let mut told: Vec<String> = scaling
        .designs
        .iter()
        .map(|design| match design.wall {
            Some((cpus, lock)) => format!(
                "With {}, {} is the first bottleneck: from {cpus} CPUs on, threads wait for it for more than half \
                 their time.",
                design.name,
                names::lock_in_sentence(&profile.locks[lock as usize].name)
            ),
            None => format!("With {} no lock becomes a bottleneck.", design.name),
        })
        .collect();
    let check = &scaling.check;
    let off = (check.model_per_s / check.recorded_per_s.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
    told.push(format!(
        "The model's error where it can be checked: with {} threads on {} CPUs it gives {} acquisitions a second, \
         and {} were recorded ({off:+.0}%).",
        check.threads,
        check.cpus,
        count(check.model_per_s as u64),
        count(check.recorded_per_s as u64)
    ));
    told.push(
        "The model knows how often each lock is taken and how long it is held, but not their order, phases or nesting."
            .to_owned(),
    );
    told
}
