//! Waiting for the end of a mount: by a signal, or because it was unmounted.

use anyhow::{Context, Result, anyhow};
use fuser::BackgroundSession;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What can happen to a mount.
enum Event {
    Signal(i32),
    /// The session is over.
    Ended(std::io::Result<()>),
}

/// Signals and the session's end, as they come.
pub(super) struct Watch {
    sender: Sender<Event>,
    events: Receiver<Event>,
}

impl Watch {
    /// Makes signals wait from now on: before there is a mount that they could leave behind.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub(super) fn start() -> Result<Watch> {
        let (sender, events) = channel();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).context("signals cannot be caught")?;
        let to = sender.clone();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                if to.send(Event::Signal(signal)).is_err() {
                    return;
                }
            }
        });
        Ok(Watch { sender, events })
    }

    /// Serves until the file system is unmounted, by us or by others.
    ///
    /// # Errors
    /// It cannot be unmounted, or the kernel and the server do not understand each other.
    pub(super) fn wait(self, session: BackgroundSession, directory: &Path, statistics: impl Fn()) -> Result<()> {
        let Watch { sender, events } = self;
        std::thread::spawn(move || _ = sender.send(Event::Ended(session.join())));
        serve(&events, directory, statistics)
    }
}

fn serve(events: &Receiver<Event>, directory: &Path, statistics: impl Fn()) -> Result<()> {
    let (mut asked, mut detached) = (false, false);
    for event in events {
        match event {
            // A thread that was about to read a request may see a disorderly end; we wanted an end.
            Event::Ended(Err(error)) if asked => {
                eprintln!("turnwise: after the unmount: {error}");
                return Ok(());
            }
            Event::Ended(outcome) => return outcome.context("the kernel's requests cannot be read any more"),
            Event::Signal(SIGUSR1) => statistics(),
            Event::Signal(_) if detached => return Ok(()),
            Event::Signal(_) => (asked, detached) = (true, unmount(directory)?),
        }
    }
    Err(anyhow!("the thread that reports the end has exited"))
}

/// Unmounts it; returns whether it was busy and is only detached.
fn unmount(directory: &Path) -> Result<bool> {
    match rustix::mount::unmount(directory, UnmountFlags::empty()) {
        Ok(()) | Err(Errno::INVAL) => Ok(false),
        Err(Errno::PERM) => helped(directory),
        Err(Errno::BUSY) => {
            rustix::mount::unmount(directory, UnmountFlags::DETACH).context("it is busy, and cannot be detached")?;
            let shown = directory.display();
            eprintln!(
                "turnwise: {shown} is in use: it is out of sight now, and served until its last file is closed; a \
                 second signal ends it at once"
            );
            Ok(true)
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be unmounted", directory.display())),
    }
}

/// Unmounts with a helper that is root, for a user who is not.
fn helped(directory: &Path) -> Result<bool> {
    let status = Command::new("fusermount3").args(["-u", "-z", "--"]).arg(directory).status();
    if status.context("fusermount3 cannot be run")?.success() {
        return Ok(false);
    }
    Err(anyhow!("fusermount3 -u could not unmount {}", directory.display()))
}
