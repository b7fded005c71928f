//! `turnwise enable` and `disable`, with a `systemctl` that knows one unit and writes down what it is asked to do.

use crate::common::{executable, expect_of, scratch, shown, text, turnwise};
use crate::library::packaged;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Its states are a line each in the file `states`: one for each start.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>asked
case $* in
*LoadState*) cat unit ;;
*ActiveState*) head -n 1 states; sed -i 1d states ;;
*MainPID*) cat pid ;;
daemon-reload) if [ -e refuses ]; then rm refuses; echo "no bus" >&2; exit 1; fi ;;
esac
"#;

struct Systemd {
    folder: TempDir,
    program: PathBuf,
    library: PathBuf,
}

impl Systemd {
    fn new(program: &str) -> Systemd {
        let folder = scratch();
        let (turnwise, library) = packaged(folder.path());
        let systemd = Systemd { program: turnwise, library, folder };
        executable(systemd.folder.path(), "systemctl", SYSTEMCTL.as_bytes());
        let unit = format!("LoadState=loaded\nExecStart={{ path={program} ; argv[]=x ; }}\nEnvironment=A=1\n");
        systemd.put("unit", &unit);
        systemd.put("pid", "0");
        systemd
    }

    fn put(&self, name: &str, content: &str) {
        std::fs::write(self.folder.path().join(name), content).unwrap();
    }

    /// Returns what systemctl was asked to do since the last call; not what it was asked to tell.
    fn done(&self) -> Vec<String> {
        let asked = std::fs::read(self.folder.path().join("asked")).unwrap_or_default();
        self.put("asked", "");
        text(&asked).lines().filter(|line| !line.starts_with("show ")).map(str::to_owned).collect()
    }

    fn drop_in(&self) -> PathBuf {
        self.folder.path().join("units/server.service.d/turnwise.conf")
    }

    #[track_caller]
    fn run(&self, status: i32, words: &[&str]) -> (String, String) {
        let units = self.folder.path().join("units");
        let mut command = Command::new(&self.program);
        let path = format!("{}:{}", shown(self.folder.path()), std::env::var("PATH").unwrap());
        command.args(words).args(["--into", shown(&units), "server"]).env("PATH", path).env_remove("LD_PRELOAD");
        expect_of(status, &mut command)
    }
}

#[test]
fn a_unit_is_put_on_our_locks_and_taken_off_again() {
    let systemd = Systemd::new("/bin/sleep");
    let (printed, _) = systemd.run(0, &["enable", "--print", "--lock", "queued"]);
    let preload = format!("Environment=\"LD_PRELOAD={}\"", shown(&systemd.library));
    assert!(printed.contains(&preload) && printed.contains("TURNWISE_LOCK=queued"), "{printed}");
    assert!(systemd.done().is_empty() && !systemd.drop_in().exists(), "it only prints");

    let (wrote, _) = systemd.run(0, &["enable"]);
    assert!(wrote.contains("systemctl restart server.service"), "{wrote}");
    assert_eq!(systemd.done(), ["daemon-reload"]);
    let written = std::fs::read_to_string(systemd.drop_in()).unwrap();
    assert!(written.contains(&preload) && written.contains("TURNWISE_LOCK=adaptive"), "{written}");

    systemd.put("states", "active\n");
    systemd.run(0, &["enable", "--now"]);
    assert_eq!(systemd.done(), ["daemon-reload", "restart server.service"]);
    systemd.run(0, &["disable", "--now"]);
    assert_eq!(systemd.done(), ["daemon-reload", "restart server.service"]);
    assert!(!systemd.drop_in().parent().unwrap().exists(), "its folder was its own");
    let (_, none) = systemd.run(2, &["disable"]);
    assert!(none.contains("no drop-in"), "{none}");
}

#[test]
fn a_policy_file_goes_with_it() {
    let systemd = Systemd::new("/bin/sleep");
    let file = systemd.folder.path().join("p.toml");
    std::fs::write(&file, "default = \"libc\"\n[[rule]]\nmodule = \"*\"\nlock = \"ticket\"\n").unwrap();
    systemd.run(0, &["enable", "--policy", shown(&file)]);
    let table = systemd.drop_in().with_file_name("turnwise.table");
    let written = std::fs::read_to_string(systemd.drop_in()).unwrap();
    assert!(written.contains(&format!("TURNWISE_POLICY_TABLE={}", shown(&table))), "{written}");
    let mut under = Command::new("/bin/cat");
    under.arg("/proc/self/maps").env("LD_PRELOAD", &systemd.library).env("TURNWISE_POLICY_TABLE", &table);
    let (maps, complaint) = expect_of(0, &mut under);
    assert!(maps.contains(shown(&systemd.library)) && complaint.is_empty(), "{maps}{complaint}");
    systemd.run(0, &["disable"]);
    assert!(!Path::new(&table).exists());
}

#[test]
fn a_unit_that_does_not_start_is_put_back() {
    let systemd = Systemd::new("/bin/sleep");
    systemd.put("states", "failed\n");
    let (_, said) = systemd.run(1, &["enable", "--now"]);
    assert!(said.contains("does not start on our locks (it is failed)") && said.contains("runs as before"), "{said}");
    assert!(!systemd.drop_in().exists());
    let restarted = "restart server.service";
    assert_eq!(systemd.done(), ["daemon-reload", restarted, "daemon-reload", restarted]);
}

#[test]
fn a_drop_in_that_systemd_does_not_read_is_taken_back() {
    let systemd = Systemd::new("/bin/sleep");
    systemd.put("refuses", "");
    let (_, said) = systemd.run(2, &["enable", "--now"]);
    assert!(said.contains("systemctl daemon-reload failed: no bus"), "{said}");
    assert!(!systemd.drop_in().parent().unwrap().exists());
    assert_eq!(systemd.done(), ["daemon-reload"]);
}

#[test]
fn an_earlier_drop_in_stays_if_another_fails() {
    let systemd = Systemd::new("/bin/sleep");
    systemd.run(0, &["enable", "--lock", "ticket"]);
    let before = std::fs::read_to_string(systemd.drop_in()).unwrap();
    systemd.put("refuses", "");
    systemd.run(2, &["enable", "--lock", "queued"]);
    assert_eq!(std::fs::read_to_string(systemd.drop_in()).unwrap(), before);
    systemd.put("states", "failed\n");
    systemd.run(1, &["enable", "--now", "--lock", "queued"]);
    assert_eq!(std::fs::read_to_string(systemd.drop_in()).unwrap(), before);
}

#[test]
fn a_program_is_tried_before_any_file_is_written() {
    let systemd = Systemd::new("/bin/sleep");
    let program = systemd.folder.path().join("program");
    std::fs::write(&program, std::fs::read("/bin/sleep").unwrap()).unwrap(); // which nobody may start
    systemd.put("unit", &format!("LoadState=loaded\nExecStart={{ path={} ; argv[]=x ; }}\n", shown(&program)));
    let for_all =
        || std::fs::metadata("/usr/local/lib/libturnwise_preload.so.0").and_then(|found| found.modified()).ok();
    let before = for_all();
    let path = format!("{}:{}", shown(systemd.folder.path()), std::env::var("PATH").unwrap());
    let units = systemd.folder.path().join("units");
    let mut command = turnwise(&["enable", "--into", shown(&units), "server"]);
    command.env("PATH", path).env_remove("LD_PRELOAD");
    let (_, said) = expect_of(2, &mut command);
    assert!(said.contains("cannot start"), "{said}");
    assert_eq!(for_all(), before);
    assert!(!units.exists() && systemd.done().is_empty());
}

#[test]
fn a_unit_that_runs_without_the_library_is_noticed() {
    let systemd = Systemd::new("/bin/sleep");
    systemd.put("states", "active\n");
    systemd.put("pid", &std::process::id().to_string());
    let (_, said) = systemd.run(1, &["enable", "--now"]);
    assert!(said.contains("has not the library"), "{said}");
}

#[test]
fn units_that_cannot_be_enabled_change_nothing() {
    for (unit, part) in [
        ("LoadState=not-found\n", "no unit server.service"),
        ("LoadState=loaded\nEnvironment=\n", "starts no program"),
        ("LoadState=loaded\nExecStart={ path=/nowhere/x ; argv[]=x ; }\n", "/nowhere/x"),
    ] {
        let systemd = Systemd::new("/bin/sleep");
        systemd.put("unit", unit);
        let (_, said) = systemd.run(2, &["enable", "--now"]);
        assert!(said.contains(part), "{said}");
        assert!(systemd.done().is_empty() && !systemd.drop_in().exists());
    }
}
