//! Plug-ins that are unloaded, and others that are loaded where they were.

use crate::harness::{Run, function, plugin};
use std::collections::BTreeMap;
use std::path::PathBuf;
use turnwise_profile::model::Profile;

fn run(plugins: &[&PathBuf]) -> Profile {
    let names: Vec<String> = plugins.iter().map(|path| path.display().to_string()).collect();
    Run::program("plugins", "", &[], &[("PLUGINS", &names.join(":"))]).profile()
}

/// Returns the acquisitions by the lock's variable and the function.
fn acquisitions(profile: &Profile) -> BTreeMap<(&str, &str), u64> {
    let mut found = BTreeMap::new();
    for site in &profile.sites {
        let lock = profile.locks[site.lock as usize].symbol.as_deref().unwrap_or("?");
        let lock = lock.split(' ').next().unwrap_or_default();
        *found.entry((lock, function(profile, site))).or_default() += site.usage.acquisitions;
    }
    found
}

#[test]
fn a_plugin_that_lands_where_another_was_is_another() {
    let (alpha, beta) = (plugin("alpha"), plugin("beta"));
    let profile = run(&[&alpha, &beta, &alpha]);
    let expected = [
        (("alpha_lock", "alpha_work"), 200),
        (("beta_lock", "beta_work"), 100),
        (("common", "alpha_work"), 200),
        (("common", "beta_work"), 100),
    ];
    assert_eq!(acquisitions(&profile), BTreeMap::from(expected));
}

#[test]
fn a_plugin_that_comes_back_is_the_same() {
    let alpha = plugin("alpha");
    let profile = run(&[&alpha, &alpha, &alpha]);
    assert_eq!(profile.locks.len(), 2, "{:?}", profile.locks);
    assert_eq!(acquisitions(&profile)[&("alpha_lock", "alpha_work")], 300);
}
