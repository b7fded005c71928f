//! Programs that are started: one with a loader other than ours runs as without our library.

use crate::harness::{Build, Program, library};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use turnwise_preload_abi::environment;

const LOADER: &str =
    if cfg!(target_arch = "x86_64") { "/lib64/ld-linux-x86-64.so.2" } else { "/lib/ld-linux-aarch64.so.1" };
/// Another library that the user has preloaded.
const OTHER: &str = "libm.so.6";

/// Starts a target by a function, and returns what the target received.
fn given(starter: &Program, function: &str, target: &Path) -> String {
    let folder = target.parent().expect("a folder");
    let mut command = starter.command();
    command.current_dir(folder).arg(format!("LD_PRELOAD={}:{OTHER}", library().display()));
    command.arg(format!("{}=queued", environment::LOCK)).arg(starter.path()).arg(function).arg(target).arg(folder);
    let output = command.output().expect("timeout of coreutils");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{function} {}: {shown}{output:?}", target.display());
    shown
}

#[test]
fn a_program_with_another_loader_is_started_as_without_us() {
    let starter = Build::new("starts.c").program();
    // It names its loader by another path to the same file.
    let other = Build::new("starts.c").flags(&["-Wl,--dynamic-linker=ld-other.so.1"]).program();
    let folder = other.path().parent().expect("a folder");
    symlink(LOADER, folder.join("ld-other.so.1")).expect("a link");
    let script = folder.join("script");
    std::fs::write(&script, format!("#! {}\n", other.path().display())).expect("a script");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("ours");
    let ours = format!("{}:{OTHER} queued ", library().display());
    let without = format!("{OTHER} - ");
    for function in [
        "execve",
        "execv",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
        "execle",
        "execveat",
        "fexecve",
        "posix_spawn",
        "posix_spawnp",
        "errors",
    ] {
        assert_eq!(given(&starter, function, starter.path()), ours, "{function}");
        assert_eq!(given(&starter, function, other.path()), without, "{function}");
        // An interpreter that opens a script by its descriptor finds that closed.
        if function != "fexecve" {
            assert_eq!(given(&starter, function, &script), without, "{function} of a script");
        }
    }
}
