//! Keeps the files of a program open while it runs under the recorder: they may be deleted or replaced when their names
//! are looked up.

use super::source;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use turnwise_profile::analysis::keep;
use turnwise_profile::symbols::Kept;

/// The time until the first check of the recordings; later intervals each double.
const FIRST: Duration = Duration::from_millis(1);
const LATER: Duration = Duration::from_millis(128);

pub(super) struct Keeper {
    end: Sender<()>,
    recording: PathBuf,
    /// `None`: a limit allows no more threads, so files are only looked for at the end.
    thread: Option<JoinHandle<Kept>>,
}

impl Keeper {
    /// Starts the thread; `recording` is that of the started process, next to which those of its children will be.
    pub(super) fn begin(recording: &Path) -> Keeper {
        let (end, ended) = channel();
        let watched = recording.to_owned();
        let watch = move || {
            let (mut kept, mut pause) = (Kept::default(), FIRST);
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                look(&watched, &mut kept);
                pause = (2 * pause).min(LATER);
            }
            look(&watched, &mut kept);
            kept
        };
        Keeper { end, recording: recording.to_owned(), thread: Builder::new().spawn(watch).ok() }
    }

    pub(super) fn end(self) -> Kept {
        let Some(thread) = self.thread else {
            let mut kept = Kept::default();
            look(&self.recording, &mut kept);
            return kept;
        };
        // The thread cannot have ended before.
        let _ = self.end.send(());
        thread.join().unwrap_or_default()
    }
}

fn look(recording: &Path, kept: &mut Kept) {
    let family: Vec<PathBuf> = source::family(recording).unwrap_or_default();
    family.iter().for_each(|file| keep(file, kept));
}
