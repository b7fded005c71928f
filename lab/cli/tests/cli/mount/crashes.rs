//! Programs that die in the middle of things, and the server itself.

use super::*;
use crate::common::{expect_complaint, shown};
use std::os::unix::process::ExitStatusExt;

#[test]
fn a_client_that_is_killed_leaves_the_mount_in_order() {
    for writeback in [&[][..], &["--writeback"]] {
        let Some(mounted) = mount(writeback) else { return };
        let script = "exec 3>open; exec 4<>gone; rm gone; mkdir deep; cd deep; echo here >&4; echo ready >ready
            exec cat /dev/zero >&3";
        let mut client = Command::new("sh").args(["-c", script]).current_dir(&mounted.directory).spawn().unwrap();
        let start = Instant::now();
        while !mounted.path("deep/ready").exists() || mounted.path("open").metadata().unwrap().len() == 0 {
            assert!(start.elapsed() < PATIENCE, "the client gets nowhere");
            std::thread::sleep(Duration::from_millis(2));
        }
        client.kill().unwrap();
        assert_eq!(client.wait().unwrap().signal(), Some(9));
        let len = mounted.path("open").metadata().unwrap().len();
        let data = std::fs::read(mounted.path("open")).unwrap();
        assert!(data.len() as u64 >= len && data.iter().all(|byte| *byte == 0));
        std::fs::remove_file(mounted.path("open")).unwrap();
        std::fs::remove_dir_all(mounted.path("deep")).unwrap();
        all_is_given_back(&mounted);
        signal(mounted.pid(), "TERM");
        let (status, said) = mounted.end();
        assert_eq!((status, said.as_str()), (Some(0), ""), "nothing is in use any more");
    }
}

/// Pages of unreachable files are free again, soon after the last process that had them open is gone.
fn all_is_given_back(mounted: &Mounted) {
    let start = Instant::now();
    loop {
        let usage = rustix::fs::statvfs(&mounted.directory).unwrap();
        let (pages, inodes) = (usage.f_blocks - usage.f_bfree, usage.f_files - usage.f_ffree);
        if (pages, inodes) == (0, 1) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{pages} pages and {inodes} inodes stay");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_client_that_is_killed_with_a_dirty_mapping_loses_nothing() {
    let Some(mounted) = mount(&[]) else { return };
    let path = mounted.path("mapped");
    std::fs::write(&path, [0; 8192]).unwrap();
    let script = "import mmap, sys, os, time
f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 8192); m[4000:4200] = b'x' * 200
print('ready', flush=True); time.sleep(60)";
    let python = Command::new("python3").args(["-c", script]).arg(&path).stdout(Stdio::piped()).spawn();
    let Ok(mut client) = python else {
        eprintln!("SKIPPED: no python3 to map a file with");
        return;
    };
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    client.kill().unwrap();
    client.wait().unwrap();
    let data = std::fs::read(&path).unwrap();
    assert!(data[4000..4200].iter().all(|byte| *byte == b'x') && data[4200..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_server_that_is_killed_leaves_a_mount_that_says_so_and_can_be_cleaned() {
    for tool in [&["fusermount3", "-u"][..], &["umount", "-l"]] {
        if !has(tool[0]) {
            continue;
        }
        let Some(mut mounted) = mount(&[]) else { return };
        let mut open = std::fs::File::create(mounted.path("open")).unwrap();
        signal(mounted.pid(), "KILL");
        mounted.child.wait().unwrap();
        let not_connected = |error: std::io::Error| assert_eq!(error.raw_os_error(), Some(libc::ENOTCONN));
        not_connected(std::fs::metadata(&mounted.directory).unwrap_err());
        not_connected(std::fs::File::create(mounted.path("new")).unwrap_err());
        let failed = std::io::Write::write_all(&mut open, b"x").unwrap_err();
        assert!(matches!(failed.raw_os_error(), Some(libc::ENOTCONN | libc::ECONNABORTED)), "{failed}");
        drop(open);
        let shown = shown(&mounted.directory);
        expect_complaint(2, &["mount", shown], &["has died", "fusermount3 -u", "umount -l"]);
        let cleaned = Command::new(tool[0]).args(&tool[1..]).arg(&mounted.directory).status();
        assert!(cleaned.expect("the tool is installed").success());
        assert!(!mounted.is_mounted());
        assert_eq!(std::fs::read_dir(&mounted.directory).unwrap().count(), 0);
    }
}
