//! The machine files that come with the program, and those of users.

use super::Machine;
use super::file::{self, SpecError};
use std::path::Path;
use turnwise_present::toml_file::read;

/// Name and text of each.
const FILES: &[(&str, &str)] = &[
    ("westmere-ex-80", include_str!("../../machines/westmere-ex-80.toml")),
    ("nehalem-ep-2s", include_str!("../../machines/nehalem-ep-2s.toml")),
    ("altix-64", include_str!("../../machines/altix-64.toml")),
    ("desktop-4", include_str!("../../machines/desktop-4.toml")),
    ("osv-4", include_str!("../../machines/osv-4.toml")),
    ("osv-laptop", include_str!("../../machines/osv-laptop.toml")),
    ("epyc-milan-2s", include_str!("../../machines/epyc-milan-2s.toml")),
    ("icelake-2s", include_str!("../../machines/icelake-2s.toml")),
    ("sapphire-rapids-2s", include_str!("../../machines/sapphire-rapids-2s.toml")),
    ("graviton4", include_str!("../../machines/graviton4.toml")),
    ("lockhammer-x86-2", include_str!("../../machines/lockhammer-x86-2.toml")),
    ("lockhammer-x86-3", include_str!("../../machines/lockhammer-x86-3.toml")),
    ("xeon-5320-2s", include_str!("../../machines/xeon-5320-2s.toml")),
    ("oracle-x5-4", include_str!("../../machines/oracle-x5-4.toml")),
    ("xeon-6148-2s", include_str!("../../machines/xeon-6148-2s.toml")),
    ("core-i5-12500", include_str!("../../machines/core-i5-12500.toml")),
    ("epyc-9754-2s", include_str!("../../machines/epyc-9754-2s.toml")),
    ("mesh-1024", include_str!("../../machines/mesh-1024.toml")),
];

/// Returns name and text of each machine file that comes with the program.
#[must_use]
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// Loads a machine by its name, or a machine file by its path: with a `/` in it, or ending in `.toml`.
///
/// # Errors
///
/// States what is wrong with the name, the path or the file.
pub fn load(name_or_path: &str) -> Result<Machine, SpecError> {
    let as_path = Path::new(name_or_path);
    if name_or_path.contains('/') || as_path.extension().is_some_and(|extension| extension == "toml") {
        let text = read(file::SORT, as_path).map_err(SpecError::of_name)?;
        return file::parse(&text, name_or_path);
    }
    match FILES.iter().find(|(name, _)| *name == name_or_path) {
        Some((name, text)) => file::parse(text, &format!("{name}.toml")),
        None => Err(SpecError::of_name(format!("no such machine: {name_or_path:?}; {}", known()))),
    }
}

fn known() -> String {
    let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    format!("give one of {}, or the path of a machine file (with a `/`, or ending in `.toml`)", names.join(", "))
}
