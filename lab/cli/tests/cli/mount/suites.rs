//! Other people's tests of file systems, where they are installed: `apt-get install stress-ng`,
//! `cargo install pjdfstest fsx`. docs/mount.md has the full runs.

use super::*;
use std::process::Output;

/// Runs a program if there is one; reports it if not.
fn suite(program: &str, arguments: &[&str], path: &Path) -> Option<Output> {
    let Ok(found) = which::which(program) else {
        eprintln!("SKIPPED: {program} is not installed");
        return None;
    };
    let mut command = Command::new(found);
    command.args(arguments).arg(path).stdin(Stdio::null());
    Some(command.output().expect("it can be run"))
}

#[test]
fn stress_ng() {
    let Some(mounted) = mount(&["--size", "256MiB"]) else { return };
    let stressors = ["dentry", "dir", "rename", "link", "symlink", "getdent", "fallocate", "fpunch", "utime", "chmod"];
    let mut arguments: Vec<String> = stressors.iter().map(|name| format!("--{name}=1")).collect();
    arguments.extend(["-t".to_owned(), "2".to_owned(), "--verify".to_owned(), "--temp-path".to_owned()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(output) = suite("stress-ng", &arguments, &mounted.directory) else { return };
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(mounted.shell("ls -A"), "", "it removes what it made");
}

#[test]
fn pjdfstest() {
    // Sockets have short paths.
    let Some(mounted) = mount_in(tempfile::tempdir().expect("a directory"), &[]) else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: pjdfstest wants to be root");
        return;
    }
    let configuration = mounted._scratch.path().join("pjdfstest.toml");
    let text_of = "[features]\nposix_fallocate = {}\nrename_ctime = {}\nutime_now = {}\nutimensat = {}\n
        [settings]\nnaptime = 0.02\n
        [dummy_auth]\nentries = [[\"nobody\", \"nogroup\"], [\"games\", \"games\"]]\n";
    std::fs::write(&configuration, text_of).unwrap();
    // Other users must reach the mount.
    std::fs::set_permissions(mounted._scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let arguments = ["-c", configuration.to_str().expect("it is text"), "-p"];
    let Some(output) = suite("pjdfstest", &arguments, &mounted.directory) else { return };
    let shown = text(&output.stdout);
    assert!(output.status.success() && shown.contains("Summary: 0 failed"), "{shown}");
}

#[test]
fn fsx() {
    for arguments in [&[][..], &["--writeback"]] {
        let Some(mounted) = mount(arguments) else { return };
        let Some(output) = suite("fsx", &["-N", "2000", "-S", "7"], &mounted.path("file")) else { return };
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}
