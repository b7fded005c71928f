//! What POSIX requires of names, links, renames, times and permissions, one thing at a time.

use super::*;
use rustix::fs::{CWD, FallocateFlags, RenameFlags, SeekFrom, fallocate, renameat_with, seek};
use rustix::io::Errno;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

#[test]
fn an_open_file_outlives_its_last_name() {
    let Some(mounted) = mount(&[]) else { return };
    let path = mounted.path("file");
    std::fs::write(&path, "before").unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "another").unwrap();
    file.write_all_at(b"after!", 0).unwrap();
    assert_eq!(std::io::read_to_string(&file).unwrap(), "after!");
    assert_eq!((file.metadata().unwrap().nlink(), std::fs::read(&path).unwrap()), (0, b"another".to_vec()));
}

#[test]
fn links_share_an_inode_and_count() {
    let Some(mounted) = mount(&[]) else { return };
    std::fs::create_dir(mounted.path("dir")).unwrap();
    std::fs::write(mounted.path("one"), "1").unwrap();
    std::fs::hard_link(mounted.path("one"), mounted.path("dir/two")).unwrap();
    let (one, two) = (mounted.path("one").metadata().unwrap(), mounted.path("dir/two").metadata().unwrap());
    assert_eq!((one.ino(), one.nlink()), (two.ino(), 2));
    std::fs::remove_file(mounted.path("one")).unwrap();
    std::fs::write(mounted.path("dir/two"), "changed").unwrap();
    assert_eq!(mounted.path("dir/two").metadata().unwrap().nlink(), 1);
    assert_eq!(mounted.directory.metadata().unwrap().nlink(), 3, "`.`, its name, and `..` in dir");
    let refused = std::fs::hard_link(mounted.path("dir"), mounted.path("no")).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
}

#[test]
fn renames_replace_exchange_and_refuse() {
    let Some(mounted) = mount(&[]) else { return };
    mounted.shell("mkdir -p a/b full/x empty; echo 1 >one; echo 2 >two");
    let rename = |from: &str, to: &str, flags| renameat_with(CWD, mounted.path(from), CWD, mounted.path(to), flags);
    let plain = RenameFlags::empty();
    assert_eq!(rename("one", "two", RenameFlags::NOREPLACE), Err(Errno::EXIST));
    assert_eq!(rename("one", "a", RenameFlags::EXCHANGE), Ok(()));
    assert_eq!(mounted.shell("cat a; ls one"), "1\nb\n");
    assert_eq!(rename("one", "a", RenameFlags::EXCHANGE), Ok(()));
    assert_eq!(rename("one", "two", plain), Ok(()));
    assert_eq!(mounted.shell("cat two; ls"), "1\na\nempty\nfull\ntwo\n");
    assert_eq!(rename("a", "a/b/c", plain), Err(Errno::INVAL), "into its own child");
    assert_eq!(rename("a", "full", plain), Err(Errno::NOTEMPTY));
    assert_eq!(rename("a", "two", plain), Err(Errno::NOTDIR));
    assert_eq!(rename("two", "empty", plain), Err(Errno::ISDIR));
    assert_eq!(rename("gone", "x", plain), Err(Errno::NOENT));
    assert_eq!(rename("gone", "two", RenameFlags::EXCHANGE), Err(Errno::NOENT));
    assert_eq!(rename("a", "full/a", plain), Ok(()));
    assert_eq!(rename("full/a", "empty", plain), Ok(()));
    assert_eq!(mounted.shell("find . | sort"), ".\n./empty\n./empty/b\n./full\n./full/x\n./two\n");
    assert_eq!(mounted.shell("stat -c %h . full empty"), "4\n3\n3\n");
}

#[test]
fn a_working_directory_that_is_removed_and_one_that_moves() {
    let Some(mounted) = mount(&[]) else { return };
    let moved = mounted.shell("mkdir -p a/b; cd a/b; mv ../../a ../../c; /bin/pwd; cd /; ls");
    assert!(moved.starts_with(mounted.path("c/b").to_str().unwrap()), "{moved}");
    let (status, _) = mounted.try_shell("mkdir gone; cd gone; rmdir ../gone; echo x >file");
    assert!(!status.success());
    assert_eq!(mounted.shell("ls"), "c\n");
}

#[test]
fn every_kind_of_node() {
    let Some(mounted) = mount(&[]) else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: device nodes are for root");
        return;
    }
    mounted.shell("mkfifo fifo; mknod null c 1 3; mknod block b 7 200; ln -s fifo link; mkdir -m 1777 dir");
    let shown = mounted.shell("stat -c '%n %F %a %t,%T' *");
    let wanted = "block block special file 644 7,c8\ndir directory 1777 0,0\nfifo fifo 644 0,0\n\
        link symbolic link 777 0,0\nnull character special file 644 1,3\n";
    assert_eq!(shown, wanted);
    assert_eq!(mounted.shell("echo gone >null; cat <null; (echo through >fifo &) ; cat fifo"), "through\n");
    let socket = mounted.path("socket");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::os::unix::net::UnixStream::connect(&socket).unwrap();
    drop(listener);
}

#[test]
fn permissions_are_the_kernels_business_and_it_knows_them() {
    let Some(mounted) = mount(&[]) else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can be somebody else");
        return;
    }
    for parent in mounted.directory.ancestors().skip(1) {
        let mode = parent.metadata().unwrap().permissions().mode();
        if mode & 0o001 == 0 {
            eprintln!("SKIPPED: {} may not be searched by others", parent.display());
            return;
        }
    }
    mounted.shell(
        "mkdir -m 755 ours; mkdir -m 1777 all; echo secret >ours/secret; chmod 600 ours/secret; echo x >all/root",
    );
    let other = |script: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=1234", "--regid=1234", "--clear-groups", "sh", "-c", script]);
        command.current_dir(&mounted.directory).stderr(Stdio::null()).status().expect("setpriv is there").success()
    };
    assert!(!other("cat ours/secret") && !other("echo x >ours/new") && !other("rm -f all/root"));
    assert!(other("echo mine >all/mine && chmod 640 all/mine"));
    assert_eq!(mounted.shell("stat -c '%u:%g %a' all/mine"), "1234:1234 640\n");
    assert!(!other("chown 0 all/mine"));
    mounted.shell("chgrp 77 all; chmod g+s all");
    assert!(other("mkdir all/dir && echo >all/file"));
    assert_eq!(mounted.shell("stat -c '%g %a' all/dir all/file"), "77 2755\n77 644\n");
    mounted.shell("cp /bin/true all/set; chmod 4755 all/set; chown 1234 all/set");
    assert_eq!(mounted.shell("stat -c '%u %a' all/set"), "1234 755\n", "a new owner takes no set-id bit along");
}

#[test]
fn times_to_the_nanosecond() {
    let Some(mounted) = mount(&[]) else { return };
    mounted.shell("touch -d '1969-12-31 23:59:58.5 UTC' old; touch -d '2001-02-03 04:05:06.789012345 UTC' new");
    assert_eq!(
        mounted.shell("TZ=UTC stat -c %y old new"),
        concat!("1969-12-31 23:59:58.500000000 +0000\n", "2001-02-03 04:05:06.789012345 +0000\n")
    );
    let before = mounted.directory.metadata().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    mounted.shell("echo >file");
    let after = mounted.directory.metadata().unwrap();
    assert!((after.mtime(), after.mtime_nsec()) > (before.mtime(), before.mtime_nsec()));
}

#[test]
fn holes_are_made_and_found() {
    let Some(mounted) = mount(&[]) else { return };
    let path = mounted.path("sparse");
    let file = std::fs::File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    file.write_all_at(b"far", 1 << 20).unwrap();
    fallocate(&file, FallocateFlags::empty(), 0, 8192).unwrap();
    fallocate(&file, FallocateFlags::KEEP_SIZE, 2 << 20, 4096).unwrap();
    fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 4096, 4096).unwrap();
    assert_eq!(file.metadata().unwrap().len(), (1 << 20) + 3);
    assert_eq!(file.metadata().unwrap().blocks(), 3 * 8);
    assert_eq!(seek(&file, SeekFrom::Hole(0)), Ok(4096));
    assert_eq!(seek(&file, SeekFrom::Data(4096)), Ok(1 << 20));
    assert_eq!(seek(&file, SeekFrom::Data(2 << 20)), Err(Errno::NXIO));
    assert_eq!(fallocate(&file, FallocateFlags::COLLAPSE_RANGE, 0, 4096), Err(Errno::OPNOTSUPP));
}

#[test]
fn a_directory_that_changes_while_it_is_read() {
    for cache in ["1h", "0s"] {
        let Some(mounted) = mount(&["--kernel-cache", cache]) else { return };
        let stays = 500;
        (0..stays).for_each(|name| std::fs::write(mounted.path(&format!("stays{name}")), "").unwrap());
        let mut seen = std::collections::BTreeSet::new();
        for (turn, entry) in std::fs::read_dir(&mounted.directory).unwrap().enumerate() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.starts_with("stays") {
                assert!(seen.insert(name), "nothing is shown twice");
            }
            if turn < 200 {
                std::fs::write(mounted.path(&format!("comes{turn}")), "").unwrap();
                _ = std::fs::remove_file(mounted.path(&format!("comes{}", turn / 2)));
            }
        }
        assert_eq!(seen.len(), stays);
    }
}

#[test]
fn extended_attributes_are_said_to_be_unsupported() {
    let Some(mounted) = mount(&[]) else { return };
    std::fs::write(mounted.path("file"), "").unwrap();
    let refused = rustix::fs::setxattr(mounted.path("file"), "user.x", b"1", rustix::fs::XattrFlags::empty());
    assert_eq!(refused, Err(Errno::OPNOTSUPP));
}

#[test]
fn threads_that_create_rename_and_remove_side_by_side() {
    for arguments in [&["--threads", "4"][..], &["--threads", "4", "--kernel-cache", "0s"]] {
        let Some(mounted) = mount(arguments) else { return };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (own, shared) = (mounted.path(&format!("own{thread}")), mounted.path("shared"));
                scope.spawn(move || {
                    std::fs::create_dir(&own).unwrap();
                    for turn in 0..50_u32 {
                        let file = own.join(format!("file{turn}"));
                        std::fs::write(&file, turn.to_le_bytes()).unwrap();
                        // One of them wins; a process that opens it finds a whole file or none.
                        std::fs::rename(&file, &shared).unwrap();
                        if let Ok(data) = std::fs::read(&shared) {
                            assert_eq!(data.len(), 4);
                        }
                    }
                    std::fs::remove_dir(&own).unwrap();
                });
            }
        });
        assert_eq!(mounted.shell("ls; stat -c %h ."), "shared\n2\n");
    }
}
