//! The output formats of a profile, all from one table, so that a command can offer all of them.

mod check;
pub(crate) mod deadlocks;
mod firefox;
mod flame;
pub(crate) mod folded;
pub(crate) mod headlines;
mod html;
pub mod json;
pub(crate) mod names;
pub mod page;
mod perfetto;
mod plausible;
mod pprof;
mod protobuf;
pub mod scaling;
mod stacks;

use crate::model::Profile;
use anyhow::Result;
pub use headlines::headlines;
use std::io::Write;

/// An output format.
pub struct Format {
    /// Its name, for people.
    pub name: &'static str,
    /// The option that requests it, without dashes.
    pub flag: &'static str,
    /// The extension of its files.
    pub extension: &'static str,
    /// Its purpose, in one line.
    pub help: &'static str,
    write: fn(&Profile, &mut dyn Write) -> Result<()>,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "JSON",
        flag: "json",
        extension: "json",
        help: "All data of the profile, for programs, and for `--from`",
        write: json::write,
    },
    Format {
        name: "HTML",
        flag: "html",
        extension: "html",
        help: "A page with tables, flame graph and timelines: one file, works offline",
        write: html::write,
    },
    Format {
        name: "folded stacks",
        flag: "folded",
        extension: "folded",
        help: "Wait time (us) by stack, a line each, for flame graph tools",
        write: folded::write,
    },
    Format {
        name: "flame graph",
        flag: "flame",
        extension: "svg",
        help: "Wait time by stack, as an SVG to click through in a browser",
        write: flame::write,
    },
    Format {
        name: "pprof",
        flag: "pprof",
        extension: "pb.gz",
        help: "For `go tool pprof` and other tools that read its format: contentions, delay, hold time",
        write: pprof::write,
    },
    Format {
        name: "Firefox profiler",
        flag: "firefox",
        extension: "firefox.json",
        help: "Waits and holds of each thread, for profiler.firefox.com (works offline there)",
        write: firefox::write,
    },
    Format {
        name: "Perfetto trace",
        flag: "perfetto",
        extension: "pftrace",
        help: "Waits and holds by thread and by lock, for ui.perfetto.dev",
        write: perfetto::write,
    },
];

impl Format {
    /// Writes a profile.
    pub fn write(&self, profile: &Profile, to: &mut dyn Write) -> Result<()> {
        (self.write)(profile, to)
    }
}

/// Checks that everything a profile refers to exists, and that its figures can be added up.
pub(crate) fn sound(profile: &Profile) -> Result<()> {
    check::references(profile)?;
    plausible::sums(profile)
}

/// Returns the format with this flag.
#[must_use]
pub fn by_flag(flag: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.flag == flag)
}
