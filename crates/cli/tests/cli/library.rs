//! `turnwise library`, and the library that a package has installed.

use crate::common::{executable, expect, expect_complaint, expect_of, scratch, shown};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "libturnwise_preload.so.0";

/// Installs the program and its library below a prefix, as packages do; returns both.
pub(crate) fn packaged(prefix: &Path) -> (PathBuf, PathBuf) {
    let [bin, lib] = ["bin", "lib"].map(|name| prefix.join(name));
    for folder in [&bin, &lib] {
        std::fs::create_dir(folder).unwrap();
    }
    expect(0, &["library", "--to", shown(&lib)]);
    (executable(&bin, "turnwise", &std::fs::read(crate::PROGRAM).unwrap()), lib.join(NAME))
}

/// Returns what the program maps, started by `command`.
#[track_caller]
fn maps(command: &mut Command) -> String {
    expect_of(0, command.args(["cat", "/proc/self/maps"])).0
}

#[test]
fn the_path_is_for_ld_preload() {
    let (path, _) = expect(0, &["library"]);
    assert_eq!(path.lines().count(), 1, "{path}");
    let maps = maps(Command::new("env").arg(format!("LD_PRELOAD={}", path.trim())));
    assert!(maps.contains(path.trim()), "{maps}");
}

#[test]
fn the_loader_finds_it_by_its_name_alone() {
    let folder = scratch();
    let file = folder.path().join(NAME);
    let (path, _) = expect(0, &["library", "--to", shown(folder.path())]);
    assert_eq!(path.trim(), shown(&file));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
    let by_name = format!("LD_PRELOAD={NAME}");
    let maps = maps(Command::new("env").arg(by_name).env("LD_LIBRARY_PATH", folder.path()));
    assert!(maps.contains(shown(&file)), "{maps}");
    // A second time over the one that programs may have loaded.
    expect(0, &["library", "--to", shown(folder.path())]);
}

#[test]
fn a_package_is_enough_where_nothing_may_be_written() {
    let prefix = scratch();
    let (program, installed) = packaged(prefix.path());
    let nowhere = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("XDG_RUNTIME_DIR");
        command.env("TMPDIR", "/proc");
        command
    };
    assert_eq!(expect_of(0, &mut nowhere(&["library"])).0.trim(), shown(&installed));
    let mapped = maps(&mut nowhere(&["run", "--"]));
    assert!(mapped.contains(shown(&installed)), "{mapped}");
    // Another version's is not taken, and there is no room for its own.
    std::fs::write(&installed, "another").unwrap();
    let (_, refused) = expect_of(2, &mut nowhere(&["run", "--", "true"]));
    assert!(refused.contains("set XDG_CACHE_HOME"), "{refused}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    expect_complaint(2, &["library", "--to", "/nowhere/lib"], &["/nowhere/lib is not a folder"]);
}
