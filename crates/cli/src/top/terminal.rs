//! The view on a terminal: looks, keys, and drawing.

use super::app::App;
use super::view::{Look, draw};
use crate::live::{Wanted, Watch};
use crate::stop;
use anyhow::{Context, Result};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, poll};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval at which signals are checked.
const STEP: Duration = Duration::from_millis(200);

/// Shows the view until the user ends it.
pub(super) fn run(mut watch: Watch, wanted: Wanted, interval: Duration) -> Result<ExitCode> {
    let stop = stop::flag(false)?;
    end_with_the_terminal()?;
    let mut app = App::new(wanted);
    app.look(&watch.snapshots()?);
    let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
    let shown = show(&mut terminal, &mut app, &mut watch, interval, &stop);
    let restored = ratatui::try_restore().context("cannot give the terminal back as it was; type reset");
    shown.and(restored)?;
    Ok(ExitCode::SUCCESS)
}

/// Ends the process when its terminal is gone. The key reader would otherwise poll forever without pause.
fn end_with_the_terminal() -> Result<()> {
    /// The exit status that a shell reports for a program killed by SIGHUP.
    const HUNG_UP: i32 = 128 + 1;
    let watch = || {
        let stdout = std::io::stdout();
        // A hang-up is reported unrequested, and no other event is.
        let mut terminal = [PollFd::new(&stdout, PollFlags::empty())];
        while !poll(&mut terminal, None).is_ok_and(|reported| reported > 0) {}
        std::process::exit(HUNG_UP);
    };
    std::thread::Builder::new().spawn(watch).context("no thread to watch the terminal with")?;
    Ok(())
}

fn show(
    terminal: &mut DefaultTerminal,
    app: &mut App,
    watch: &mut Watch,
    interval: Duration,
    stop: &AtomicBool,
) -> Result<()> {
    let look = Look::of_environment();
    let mut next = Instant::now() + interval;
    let mut changed = true;
    while !app.over && !stop.load(Ordering::Relaxed) {
        if changed {
            terminal.draw(|frame| draw(frame, app, &look)).context("cannot draw on the terminal")?;
        }
        changed = false;
        let left = next.saturating_duration_since(Instant::now());
        if event::poll(left.min(STEP)).context("cannot read the terminal")? {
            match event::read().context("cannot read the terminal")? {
                Event::Key(key) => app.key(key),
                Event::Resize(..) => {}
                _ => continue,
            }
            changed = true;
        }
        if Instant::now() >= next {
            next = Instant::now() + interval;
            if !app.paused {
                app.look(&watch.snapshots()?);
                changed = true;
            }
        }
    }
    Ok(())
}
