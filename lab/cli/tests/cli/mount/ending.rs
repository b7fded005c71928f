//! Every way in which a mount ends in order.

use super::*;
use std::io::Write;

#[test]
fn signals_unmount_it() {
    for name in ["INT", "TERM", "HUP"] {
        let Some(mounted) = mount(&[]) else { return };
        let directory = mounted.directory.clone();
        std::fs::write(mounted.path("file"), "gone afterwards").unwrap();
        signal(mounted.pid(), name);
        let (status, said) = mounted.end_and_look(&directory);
        assert_eq!((status, said.as_str()), (Some(0), ""), "after SIG{name}");
    }
}

#[test]
fn unmounted_from_outside_it_ends() {
    for program in [&["umount"][..], &["fusermount3", "-u"]] {
        if !has(program[0]) {
            continue;
        }
        let Some(mounted) = mount(&[]) else { return };
        let directory = mounted.directory.clone();
        let ended = Command::new(program[0]).args(&program[1..]).arg(&directory).status();
        assert!(ended.expect("the tool is installed").success());
        assert_eq!(mounted.end_and_look(&directory), (Some(0), String::new()), "after {program:?}");
    }
}

#[test]
fn in_use_it_is_detached_and_serves_until_the_last_file_is_closed() {
    let Some(mut mounted) = mount(&[]) else { return };
    let mut file = std::fs::File::options().read(true).append(true).create(true).open(mounted.path("file")).unwrap();
    signal(mounted.pid(), "TERM");
    let start = Instant::now();
    while mounted.is_mounted() {
        assert!(start.elapsed() < PATIENCE, "it stays mounted");
        std::thread::sleep(Duration::from_millis(2));
    }
    file.write_all(b"still served").unwrap();
    assert_eq!(file.metadata().unwrap().len(), 12);
    assert!(mounted.child.try_wait().unwrap().is_none(), "the server is there while the file is open");
    drop(file);
    let (status, said) = mounted.end();
    assert!(status == Some(0) && said.contains("in use"), "{status:?}: {said}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let Some(mounted) = mount(&[]) else { return };
    let file = std::fs::File::create(mounted.path("file")).unwrap();
    signal(mounted.pid(), "TERM");
    let start = Instant::now();
    while mounted.is_mounted() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(mounted.pid(), "INT");
    assert_eq!(mounted.end().0, Some(0));
    assert_eq!(file.metadata().unwrap_err().raw_os_error(), Some(libc::ENOTCONN));
}

#[test]
fn statistics_come_when_asked_for_and_at_the_end() {
    let Some(mut mounted) = mount(&["--stats"]) else { return };
    std::fs::write(mounted.path("file"), [1; 5000]).unwrap();
    signal(mounted.pid(), "USR1");
    let asked = mounted.says("statistics of");
    assert_eq!(std::fs::read(mounted.path("file")).unwrap().len(), 5000, "it goes on after SIGUSR1");
    signal(mounted.pid(), "INT");
    let (status, said) = mounted.end();
    let said = asked + &said;
    assert_eq!((status, said.matches("statistics of").count()), (Some(0), 2), "{said}");
    let written = said.lines().rfind(|line| line.trim_start().starts_with("bytes written")).expect("a line for it");
    assert_eq!(written.split_whitespace().last(), Some("5000"), "{said}");
    assert!(said.lines().any(|line| line.split_whitespace().eq(["create", "1"])), "{said}");
}

impl Mounted {
    /// Checks the end, after which nothing is mounted and the directory is empty again.
    #[track_caller]
    fn end_and_look(self, directory: &Path) -> (Option<i32>, String) {
        let scratch = tempfile::TempDir::new().expect("a directory");
        let mut this = self;
        let kept = std::mem::replace(&mut this._scratch, scratch);
        let end = this.end();
        assert!(!is_mounted(directory), "it is still mounted");
        assert_eq!(std::fs::read_dir(directory).expect("the directory is there").count(), 0);
        drop(kept);
        end
    }
}
