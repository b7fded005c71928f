//! Live views, which `turnwise top`, `why`, `tune` and `profile --pid` read while the program, or somebody, writes.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::TempDir;
use turnwise_fuzz::{check, patches};
use turnwise_live::layout::FILE_BYTES;
use turnwise_live::{Channel, Follower, Target};

/// A view's, as far as a reader cares.
const NAME: &str = "17-1.live";
/// What to do when the layout has changed.
const RENEW: &str = "copy the live view of a program called `small`, whose two threads and more wait under `turnwise \
                     run`, after `turnwise tune --lock '*=spin=9us'`, and run `TURNWISE_FUZZ_VIEW=COPY cargo test -p \
                     turnwise-fuzz --test fuzz sound_view`: it writes corpus/live/two-threads";

fn fill(file: &File, input: &[u8]) {
    let mut length = FILE_BYTES as u64;
    for (place, bytes) in patches::read(input) {
        match place.checked_add(bytes.len() as u64) {
            Some(end) if end <= FILE_BYTES as u64 => file.write_all_at(bytes, place).expect("room"),
            _ => length = place % (FILE_BYTES as u64 + 1),
        }
    }
    file.set_len(length).expect("room");
}

/// Reads all that a view can say; what it says does nothing to a terminal.
fn look(path: &Path, input: &[u8], file: &File) {
    let Ok(channel) = Channel::open(path) else { return };
    let plain = |text: &str| assert!(!text.contains(char::is_control), "a terminal would obey: {text:?}");
    plain(channel.name());
    std::hint::black_box((channel.sums().is_ok(), channel.policy(), channel.is_alive()));
    if let Ok(mut recorder) = channel.record() {
        let asked = recorder.ask(1000);
        std::hint::black_box((asked.is_ok(), recorder.take().is_ok(), recorder.losses().is_ok()));
        let _ = recorder.stop();
    }
    let tuned = channel.tuner().and_then(|tuner| tuner.change(|rules| rules.retain(|r| r.target == Target::All)));
    std::hint::black_box(tuned.is_ok());
    let mut follower = Follower::new(channel);
    for damage in [&input[..input.len() / 2], input] {
        if let Ok(snapshot) = follower.look() {
            plain(&snapshot.name);
            snapshot.threads.iter().for_each(|thread| plain(&thread.name));
            snapshot.rules.iter().for_each(|rule| plain(&rule.label));
        }
        // The program goes on meanwhile: other locks, fewer threads, a shorter file.
        fill(file, damage);
    }
}

/// A folder for a view; in memory, if there is such a folder.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a folder")
}

/// The view that an input makes, in a new file.
fn view(path: &Path, input: &[u8]) -> File {
    let _ = fs::remove_file(path);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("a file");
    fill(&file, input);
    file
}

#[test]
fn fuzz_live() {
    let folder = folder();
    let path = folder.path().join(NAME);
    check("live", 1200, Vec::new(), |input| {
        let file = view(&path, input);
        look(&path, input, &file);
    });
}

/// What is kept is of the layout of today: an older one is refused by its number, and nothing else is tried.
#[test]
fn the_corpus_has_a_sound_view() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/live/two-threads");
    let read = |file: &Path| fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if let Some(copy) = std::env::var_os("TURNWISE_FUZZ_VIEW") {
        let mut input = Vec::new();
        patches::write(&mut input, 0, &read(Path::new(&copy)));
        fs::write(&kept, input).expect("written");
    }
    let folder = folder();
    let path = folder.path().join(NAME);
    let _file = view(&path, &read(&kept));
    let channel = Channel::open(&path).unwrap_or_else(|error| panic!("{error:#}; {RENEW}"));
    let snapshot = Follower::new(channel).look().expect("it is sound");
    let seen = (snapshot.name.as_str(), snapshot.threads.len() >= 2, snapshot.rules.len());
    assert_eq!(seen, ("small", true, 1), "{RENEW}");
}
