//! Licences, versions and sources of all that is in a build, against `deny.toml`. `cargo deny` does that and more, but
//! takes minutes to install.

use super::Args;
use super::graph::{Package, packages};
use crate::command::toml;
use crate::results::{each, text};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const RULES: &str = "deny.toml";

/// What `deny.toml` says.
#[derive(Deserialize)]
struct Rules(Value);

/// Compares; returns what was compared.
pub(super) fn run(_: &Args) -> Result<String> {
    let rules: Rules = toml(RULES)?;
    let mut built = BTreeMap::new();
    for target in rules.list("graph", "targets") {
        built.extend(packages(target.as_str())?.into_iter().map(|p| ((p.name.clone(), p.version.clone()), p)));
    }
    ensure!(!built.is_empty(), "{RULES} names no target that anything is built for");
    let wrong = rules.wrong(&built.values().collect::<Vec<_>>());
    ensure!(wrong.is_empty(), "against {RULES}:\n{}", wrong.join("\n"));
    let skipped = rules.list("bans", "skip").len();
    Ok(format!("{} packages, {skipped} of them another version of one", built.len()))
}

impl Rules {
    fn list(&self, table: &str, name: &str) -> &[Value] {
        each(&self.0[table][name])
    }

    /// Lists what packages do that the rules do not allow, and rules that no package needs.
    fn wrong(&self, packages: &[&Package]) -> Vec<String> {
        let mut wrong = Vec::new();
        for package in packages {
            wrong.extend(self.licence(package).err().map(|error| format!("{error:#}")));
            let registry = package.source.as_deref().map(|source| source.trim_start_matches("registry+"));
            let allowed = self.list("sources", "allow-registry");
            if let Some(registry) = registry.filter(|registry| !allowed.iter().any(|allowed| allowed == registry)) {
                wrong.push(format!("{} {} comes from {registry}", package.name, package.version));
            }
        }
        let exceptions = self.list("licenses", "exceptions").iter().map(|exception| text(&exception["crate"]));
        let idle = exceptions.filter(|name| !packages.iter().any(|package| package.name == *name));
        wrong.extend(idle.map(|name| format!("nothing uses {name}, which has an exception among the licences")));
        wrong.extend(self.duplicates(packages));
        wrong
    }

    /// # Errors
    /// The licence is none of those allowed.
    fn licence(&self, package: &Package) -> Result<()> {
        let Package { name, version, license, .. } = package;
        let written = license.as_deref().with_context(|| format!("{name} {version} names no licence"))?;
        let licence = spdx::Expression::parse_mode(written, spdx::ParseMode::LAX);
        let licence = licence.map_err(|error| anyhow::anyhow!("{name} {version}: {written}: {}", error.reason))?;
        let excepted = self.list("licenses", "exceptions").iter().filter(|exception| exception["crate"] == *name);
        let excepted = excepted.flat_map(|exception| each(&exception["allow"]));
        let allowed: Vec<&Value> = self.list("licenses", "allow").iter().chain(excepted).collect();
        if !licence.evaluate(|one| allowed.iter().any(|allowed| **allowed == one.to_string())) {
            bail!("{name} {version} is under {written}: choose another crate, or allow it with a reason");
        }
        Ok(())
    }

    /// Lists packages in several versions that no rule excepts, and exceptions without such a package.
    fn duplicates(&self, packages: &[&Package]) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in packages {
            versions.entry(&package.name).or_default().push(&package.version);
        }
        // The name, `@`, and how the version begins.
        let skips = || self.list("bans", "skip").iter().map(|skip| text(&skip["crate"]));
        let mut needed = BTreeSet::new();
        let mut wrong = Vec::new();
        for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
            let skipped = |version: &&&str| {
                let skip = skips().find(|skip| is_of(skip, name, version));
                needed.extend(skip);
                skip.is_none()
            };
            let left: Vec<&str> = versions.iter().filter(skipped).copied().collect();
            if left.len() > 1 {
                wrong.push(format!("{name} is there as {}: `cargo tree -i` says for whom", left.join(" and ")));
            }
        }
        let idle = skips().filter(|skip| !needed.contains(skip));
        wrong.extend(idle.map(|skip| format!("nothing needs the exception for {skip}")));
        wrong
    }
}

/// Returns whether a rule means this version of this package.
fn is_of(skip: &str, name: &str, version: &str) -> bool {
    skip.split_once('@').is_some_and(|(of, begins)| {
        of == name && version.strip_prefix(begins).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let text = r#"
            graph = { targets = [] }
            licenses = { allow = ["MIT", "Zlib"], exceptions = [{ crate = "b", allow = ["CDDL-1.0"] }] }
            bans = { skip = [{ crate = "c@0.1" }] }
            sources = { allow-registry = ["https://crates.example"] }
        "#;
        toml::from_str(text).unwrap()
    }

    fn package(name: &str, version: &str, license: &str, source: &str) -> Package {
        let text = serde_json::json!({
            "name": name, "version": version, "license": license, "source": source, "manifest_path": "", "features": {}
        });
        serde_json::from_value(text).unwrap()
    }

    fn wrong(packages: &[(&str, &str, &str)]) -> Vec<String> {
        let source = "registry+https://crates.example";
        let made: Vec<_> =
            packages.iter().map(|(name, version, licence)| package(name, version, licence, source)).collect();
        rules().wrong(&made.iter().collect::<Vec<_>>())
    }

    const B: (&str, &str, &str) = ("b", "1.0.0", "CDDL-1.0");
    const OLD_C: (&str, &str, &str) = ("c", "0.1.9", "MIT/Apache-2.0");
    const NEW_C: (&str, &str, &str) = ("c", "0.10.0", "Zlib AND (MIT OR GPL-3.0-only)");

    #[test]
    fn what_is_allowed_passes() {
        assert_eq!(wrong(&[B, OLD_C, NEW_C]), [""; 0]);
    }

    #[test]
    fn other_licences_versions_and_sources_are_found() {
        let found = wrong(&[B, OLD_C, NEW_C, ("c", "0.11.0", "CDDL-1.0"), ("d", "1.0.0", "Zlib AND GPL-3.0-only")]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("c 0.11.0 is under CDDL-1.0"), "{found:?}");
        assert!(found[1].starts_with("d 1.0.0 is under Zlib AND GPL-3.0-only"), "{found:?}");
        assert!(found[2].starts_with("c is there as 0.10.0 and 0.11.0"), "{found:?}");
        let elsewhere = package("e", "1.0.0", "MIT", "git+https://forge.example/e");
        let found = rules().wrong(&[&elsewhere]);
        assert!(found[0].starts_with("e 1.0.0 comes from git+https"), "{found:?}");
    }

    #[test]
    fn exceptions_that_nothing_needs_are_found() {
        let found = wrong(&[NEW_C]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("nothing uses b") && found[1].contains("the exception for c@0.1"), "{found:?}");
    }
}
