//! A flame graph of wait time.

use super::folded;
use crate::model::Profile;
use crate::text::lines::plain;
use anyhow::{Context, Result};
use inferno::flamegraph::{self, Options};
use std::io::Write;

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    let mut lines = folded::lines(profile);
    if lines.is_empty() {
        // An empty graph is refused; a page that states so is more useful than a failure.
        lines.push("no thread waited for a lock 1".to_owned());
        let mut graph = Vec::new();
        draw(profile, &lines, &mut graph)?;
        let graph =
            String::from_utf8_lossy(&graph).replace("(1 us, 100%)", "(0 us)").replace("(1 us, 100.00%)", "(0 us)");
        return Ok(to.write_all(graph.as_bytes())?);
    }
    draw(profile, &lines, to)
}

fn draw(profile: &Profile, lines: &[String], to: &mut dyn Write) -> Result<()> {
    let mut options = Options::default();
    options.title = "Time that threads waited for locks".to_owned();
    options.subtitle = Some(plain(&profile.program.command.join(" ")));
    options.count_name = "us".to_owned();
    // A stack has the same colours in every run.
    options.hash = true;
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), to)
        .context("the flame graph could not be drawn")
}
