//! The output formats of a profile, all from one table, so that a command can offer all of them.

mod check;
pub(crate) mod deadlocks;
mod firefox;
mod folded;
pub(crate) mod headlines;
mod html;
pub mod json;
pub(crate) mod names;
pub mod page;
mod perfetto;
mod pprof;
mod protobuf;
pub mod scaling;
mod stacks;

use crate::model::Profile;
use anyhow::Result;
pub use headlines::{headlines, took_none};
use std::io;

/// An output format.
pub struct Format {
    /// The option that requests it, without dashes.
    pub flag: &'static str,
    /// Its purpose, in one line.
    pub help: &'static str,
    write: Write,
}

type Write = fn(&Profile, &mut dyn io::Write) -> Result<()>;

const fn format(flag: &'static str, help: &'static str, write: Write) -> Format {
    Format { flag, help, write }
}

/// All formats.
pub const FORMATS: &[Format] = &[
    format("json", "All data of the profile, for programs, and for `--from`", json::write),
    format("html", "A page with tables, flame graph and timelines: one file, works offline", html::write),
    format("folded", "Wait time (us) by stack, a line each, for flame graph tools", folded::write),
    format("flame", "Wait time by stack, as an SVG to click through in a browser", folded::flame),
    format(
        "pprof",
        "For `go tool pprof` and other tools that read its format: contentions, delay, hold time",
        pprof::write,
    ),
    format("firefox", "Waits and holds of each thread, for profiler.firefox.com (works offline there)", firefox::write),
    format("perfetto", "Waits and holds by thread and by lock, for ui.perfetto.dev", perfetto::write),
];

impl Format {
    /// Writes a profile.
    pub fn write(&self, profile: &Profile, to: &mut dyn io::Write) -> Result<()> {
        (self.write)(profile, to)
    }
}

/// Checks that everything a profile refers to exists, and that its figures can be added up.
pub(crate) fn sound(profile: &Profile) -> Result<()> {
    check::references(profile)?;
    check::sums(profile)
}

/// Returns the format with this flag.
pub fn by_flag(flag: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.flag == flag)
}
