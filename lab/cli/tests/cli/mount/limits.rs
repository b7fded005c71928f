//! Full file systems, long names, loops of links.

use super::*;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::symlink;

#[test]
fn data_up_to_the_size_and_no_further() {
    let Some(mounted) = mount(&["--size", "1MiB"]) else { return };
    let mut file = std::fs::File::create(mounted.path("big")).unwrap();
    let error = (0..).find_map(|_| file.write_all(&[7; 65536]).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(file.metadata().unwrap().len(), 1 << 20, "to the last byte");
    assert_eq!(std::fs::write(mounted.path("small"), "x").unwrap_err().kind(), ErrorKind::StorageFull);
    file.set_len(1 << 19).unwrap();
    std::fs::write(mounted.path("small"), "x").unwrap();
    drop(file);
    std::fs::remove_file(mounted.path("big")).unwrap();
    std::fs::write(mounted.path("again"), vec![1; (1 << 20) - 4096]).unwrap();
}

#[test]
fn written_back_late_a_full_file_system_is_noticed_at_the_latest_by_fsync() {
    let Some(mounted) = mount(&["--size", "1MiB", "--writeback"]) else { return };
    let mut file = std::fs::File::create(mounted.path("big")).unwrap();
    let written = (0..64).try_for_each(|_| file.write_all(&[7; 65536]));
    let error = written.and_then(|()| file.sync_all()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[test]
fn inodes_up_to_the_limit_and_no_further() {
    let Some(mounted) = mount(&["--inodes", "10"]) else { return };
    let file = |number: u32| std::fs::write(mounted.path(&format!("file{number}")), "");
    (1..10).for_each(|number| file(number).unwrap());
    assert_eq!(file(10).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(std::fs::create_dir(mounted.path("dir")).unwrap_err().kind(), ErrorKind::StorageFull);
    std::fs::remove_file(mounted.path("file3")).unwrap();
    std::fs::hard_link(mounted.path("file4"), mounted.path("other name")).unwrap();
    // The kernel may still know the removed file for a moment.
    let start = Instant::now();
    while let Err(error) = file(10) {
        assert!(start.elapsed() < PATIENCE, "{error}");
    }
    let usage = rustix::fs::statvfs(&mounted.directory).unwrap();
    assert_eq!((usage.f_files, usage.f_ffree, usage.f_namemax), (10, 0, 255));
}

#[test]
fn names_and_targets_that_are_too_long() {
    let Some(mounted) = mount(&[]) else { return };
    std::fs::write(mounted.path(&"n".repeat(255)), "").unwrap();
    let too_long = std::fs::write(mounted.path(&"n".repeat(256)), "").unwrap_err();
    assert_eq!(too_long.raw_os_error(), Some(libc::ENAMETOOLONG));
    symlink("t".repeat(4095), mounted.path("link")).unwrap();
    assert_eq!(std::fs::read_link(mounted.path("link")).unwrap().as_os_str().len(), 4095);
    assert_eq!(symlink("t".repeat(4096), mounted.path("l")).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
}

#[test]
fn links_that_lead_round_in_a_circle() {
    let Some(mounted) = mount(&[]) else { return };
    symlink("two", mounted.path("one")).unwrap();
    symlink("one", mounted.path("two")).unwrap();
    assert_eq!(std::fs::read(mounted.path("one")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    assert!(std::fs::symlink_metadata(mounted.path("one")).unwrap().is_symlink());
}

#[test]
fn sizes_that_are_too_large() {
    let Some(mounted) = mount(&[]) else { return };
    let file = std::fs::File::create(mounted.path("sparse")).unwrap();
    file.set_len(1 << 60).unwrap();
    assert_eq!(mounted.shell("stat -c '%s %b' sparse"), "1152921504606846976 0\n");
    assert_eq!(rustix::fs::ftruncate(&file, 1 << 63).unwrap_err(), rustix::io::Errno::INVAL);
}
