//! Describes a forecast in words.

use crate::figures::count;
use crate::model::{Profile, Scaling};
use crate::output::names;

/// Returns one sentence for each design, on the lock that becomes the wall; then the model's error; then its limits. A
/// model with a large error where it can be checked names no lock.
#[must_use]
pub fn sentences(profile: &Profile, scaling: &Scaling) -> Vec<String> {
    let mut shown = if scaling.is_off() { vec![NO_VERDICT.to_owned()] } else { walls(profile, scaling) };
    let check = &scaling.check;
    let off = check.error().map_or_else(String::new, |error| format!(" ({:+.0}%)", error * 100.0));
    shown.push(format!(
        "The model's error where it can be checked: with {} threads on {} CPUs it gives {} acquisitions a second, \
         and {} were recorded{off}.",
        check.threads,
        check.cpus,
        count(check.model_per_s as u64),
        count(check.recorded_per_s as u64)
    ));
    shown.push(
        "The model knows how often each lock is taken and how long it is held, but not their order, phases or nesting."
            .to_owned(),
    );
    shown
}

const NO_VERDICT: &str = "No verdict: the model is off by more than 20% where it can be checked, so what it forecasts \
                          for more CPUs may be wrong as well. `turnwise-lab sim --record` replays a recording in \
                          order.";

fn walls(profile: &Profile, scaling: &Scaling) -> Vec<String> {
    let designs = scaling.designs.iter();
    let shown = designs.map(|design| match design.wall {
        Some((cpus, lock)) => format!(
            "With {}, {} is the first bottleneck: from {cpus} CPUs on, threads wait for it for more than half \
                 their time.",
            design.name,
            names::lock_in_sentence(&profile.locks[lock as usize].name)
        ),
        None => format!("With {} no lock becomes a bottleneck.", design.name),
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Design, Lock, ScalingCheck};

    #[test]
    fn a_model_that_is_far_off_names_no_bottleneck() {
        let lock = Lock { name: "hot".to_owned(), ..Lock::default() };
        let profile = Profile { locks: vec![lock], ..Profile::default() };
        let shown = |model_per_s| {
            let check = ScalingCheck { threads: 4, cpus: 2, recorded_per_s: 1000.0, model_per_s };
            let designs = vec![Design { name: "locks".to_owned(), wall: Some((8, 0)), ..Design::default() }];
            sentences(&profile, &Scaling { check, designs, ..Scaling::default() })
        };
        assert!(shown(1200.0)[0].contains("`hot` is the first bottleneck"), "{:?}", shown(1200.0));
        for off in [1201.0, 799.0, 100.0] {
            assert!(shown(off)[0].starts_with("No verdict") && !shown(off).concat().contains("bottleneck"));
        }
        assert!(shown(100.0)[1].ends_with("1,000 were recorded (-90%)."), "{:?}", shown(100.0));
    }
}
