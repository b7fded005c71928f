//! Describes a forecast in words.

use crate::model::{Profile, Scaling};
use crate::output::names;
use crate::template::{self, Serde, context};

/// Returns one sentence for each design, on the lock that becomes the wall; then the model's error; then its limits. A
/// model with a large error where it can be checked names no lock.
pub fn sentences(profile: &Profile, scaling: &Scaling) -> Vec<String> {
    let lock = |lock: u32| names::lock_in_sentence(&profile.locks[lock as usize].name);
    let designs = scaling.designs.iter().map(|design| {
        context! { lock => design.wall.map(|(_, of)| lock(of)), ..Serde(design) }
    });
    let values = context! {
        designs => designs.collect::<Vec<_>>(),
        check => Serde(&scaling.check),
        model_per_s => scaling.check.model_per_s as u64,
        recorded_per_s => scaling.check.recorded_per_s as u64,
        error => scaling.check.error(),
        is_off => scaling.is_off(),
    };
    template::lines(include_str!("../../assets/scaling.jinja"), values)
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
