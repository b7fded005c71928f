//! The machine files that come with the program, and those of users.

use super::Machine;
use super::file::{self, SpecError};
use std::path::Path;
use turnwise_present::toml_file::read;

/// Lists the files in `machines`, each by its name.
macro_rules! files {
    ($($name:literal)*) => {
        /// Name and text of each.
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../machines/", $name, ".toml")))),*];
    };
}

files! {
    "westmere-ex-80" "nehalem-ep-2s" "altix-64" "desktop-4" "osv-4" "osv-laptop" "epyc-milan-2s" "icelake-2s"
    "sapphire-rapids-2s" "graviton4" "lockhammer-x86-2" "lockhammer-x86-3" "xeon-5320-2s" "oracle-x5-4"
    "xeon-6148-2s" "core-i5-12500" "epyc-9754-2s" "mesh-1024"
}

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
    let (name, text) = named(name_or_path)?;
    file::parse(text, &format!("{name}.toml"))
}

/// Loads a machine that comes with the program, each number of a range with the value at this place of it, from 0 to 1;
/// `place` gets the range's name.
///
/// # Errors
///
/// There is no such machine, or the drawn numbers do not go together.
pub fn draw(name: &str, place: impl FnMut(&str) -> f64) -> Result<Machine, SpecError> {
    let (name, text) = named(name)?;
    file::draw(text, &format!("{name}.toml"), place)
}

fn named(name: &str) -> Result<(&'static str, &'static str), SpecError> {
    let found = FILES.iter().find(|(known, _)| *known == name).copied();
    found.ok_or_else(|| SpecError::of_name(format!("no such machine: {name:?}; {}", known())))
}

fn known() -> String {
    let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    format!("give one of {}, or the path of a machine file (with a `/`, or ending in `.toml`)", names.join(", "))
}
