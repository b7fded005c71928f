//! Licences, versions and sources of all that is in a build, against `deny.toml`. `cargo deny` does that and more, but
//! takes minutes to install.

use super::graph::{self, Package};
use crate::checks::Outcome;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const RULES: &str = "deny.toml";

/// The part of `deny.toml` that is read.
#[derive(Deserialize)]
struct Rules {
    graph: Targets,
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Targets {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    /// The name, `@`, and how the version begins.
    #[serde(rename = "crate")]
    package: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Compares; returns what was compared.
pub(super) fn run() -> Result<Outcome> {
    let rules = std::fs::read_to_string(RULES).with_context(|| format!("cannot read {RULES}"))?;
    let rules: Rules = toml::from_str(&rules).with_context(|| format!("{RULES} is not as this check reads it"))?;
    let mut packages = BTreeMap::new();
    for target in &rules.graph.targets {
        packages
            .extend(graph::read(Some(target))?.packages.into_iter().map(|p| ((p.name.clone(), p.version.clone()), p)));
    }
    let wrong = rules.wrong(&packages.values().collect::<Vec<_>>());
    ensure!(wrong.is_empty(), "against {RULES}:\n{}", wrong.join("\n"));
    Ok(Outcome::Ok(format!("{} packages, {} of them another version of one", packages.len(), rules.bans.skip.len())))
}

impl Rules {
    /// Lists what packages do that the rules do not allow, and rules that no package needs.
    fn wrong(&self, packages: &[&Package]) -> Vec<String> {
        let mut wrong = Vec::new();
        for package in packages {
            wrong.extend(self.licence(package).err().map(|error| format!("{error:#}")));
            let registry = package.source.as_deref().map(|source| source.trim_start_matches("registry+"));
            if let Some(registry) = registry.filter(|source| !self.sources.allow_registry.iter().any(|r| r == source)) {
                wrong.push(format!("{} {} comes from {registry}", package.name, package.version));
            }
        }
        for exception in &self.licenses.exceptions {
            if !packages.iter().any(|package| package.name == exception.name) {
                wrong.push(format!("nothing uses {}, which has an exception among the licences", exception.name));
            }
        }
        wrong.extend(self.duplicates(packages));
        wrong
    }

    /// # Errors
    /// The licence is none of those allowed.
    fn licence(&self, package: &Package) -> Result<()> {
        let Package { name, version, license, .. } = package;
        let text = license.as_deref().with_context(|| format!("{name} {version} names no licence"))?;
        let licence = spdx::Expression::parse_mode(text, spdx::ParseMode::LAX);
        let licence = licence.map_err(|error| anyhow::anyhow!("{name} {version}: {text}: {}", error.reason))?;
        let excepted = self.licenses.exceptions.iter().filter(|exception| exception.name == *name);
        let allowed: Vec<&String> = self.licenses.allow.iter().chain(excepted.flat_map(|e| &e.allow)).collect();
        if !licence.evaluate(|one| allowed.iter().any(|allowed| **allowed == one.to_string())) {
            bail!("{name} {version} is under {text}: choose another crate, or allow it with a reason");
        }
        Ok(())
    }

    /// Lists packages in several versions that no rule excepts, and exceptions without such a package.
    fn duplicates(&self, packages: &[&Package]) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in packages {
            versions.entry(&package.name).or_default().push(&package.version);
        }
        let mut needed = BTreeSet::new();
        let mut wrong = Vec::new();
        for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
            let skipped = |version: &&&str| {
                let skip = self.bans.skip.iter().find(|skip| skip.is_of(name, version));
                needed.extend(skip.map(|skip| skip.package.as_str()));
                skip.is_none()
            };
            let left: Vec<&str> = versions.iter().filter(skipped).copied().collect();
            if left.len() > 1 {
                wrong.push(format!("{name} is there as {}: `cargo tree -i` says for whom", left.join(" and ")));
            }
        }
        let idle = self.bans.skip.iter().filter(|skip| !needed.contains(skip.package.as_str()));
        wrong.extend(idle.map(|skip| format!("nothing needs the exception for {}", skip.package)));
        wrong
    }
}

impl Skip {
    /// Returns whether this version of this package is meant.
    fn is_of(&self, name: &str, version: &str) -> bool {
        self.package.split_once('@').is_some_and(|(of, begins)| {
            of == name && version.strip_prefix(begins).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
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
