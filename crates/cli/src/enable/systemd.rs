//! What systemd says of a unit, and what it is asked to do.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a unit must stay active to count as started.
const STAYS: Duration = Duration::from_secs(2);

pub(super) struct Unit {
    pub(super) name: String,
    /// The programs that it starts, in this order.
    pub(super) programs: Vec<PathBuf>,
    /// Its own value of LD_PRELOAD.
    pub(super) preloaded: String,
}

/// Runs `systemctl`; returns what it prints.
pub(super) fn systemctl(words: &[&str]) -> Result<String> {
    let done = Command::new("systemctl").args(words).output().context("cannot start systemctl; is systemd here?")?;
    let complaint = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "systemctl {} failed: {}", words.join(" "), complaint.trim());
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

impl Unit {
    /// Asks systemd for the unit.
    pub(super) fn find(name: &str) -> Result<Unit> {
        let name = if name.contains('.') { name.to_owned() } else { format!("{name}.service") };
        ensure!(!name.starts_with('-') && !name.contains('/'), "`{name}` is no name of a unit");
        let properties = systemctl(&["show", "--property=LoadState,ExecStart,Environment", "--", &name])?;
        Unit::read(name, &properties)
    }

    /// Reads the properties, a line each.
    fn read(name: String, properties: &str) -> Result<Unit> {
        let all = |key: &'static str| {
            let lines = properties.lines().filter_map(|line| line.split_once('='));
            lines.filter(move |(name, _)| *name == key).map(|(_, value)| value)
        };
        match all("LoadState").next() {
            Some("loaded") => {}
            Some("not-found") => bail!("there is no unit {name}; `systemctl list-units --type=service` lists them"),
            state => bail!("the unit {name} cannot be used: it is {}", state.unwrap_or("not known")),
        }
        // `{ path=/usr/sbin/nginx ; argv[]=/usr/sbin/nginx -g … ; … }`
        let path = |start: &str| Some(PathBuf::from(start.split_once("path=")?.1.split(" ;").next()?));
        let variables = all("Environment").next().unwrap_or_default();
        let variables = shlex::split(variables).unwrap_or_default();
        let preloaded = variables.iter().rev().find_map(|variable| variable.strip_prefix("LD_PRELOAD="));
        let preloaded = preloaded.unwrap_or_default().to_owned();
        Ok(Unit { name, programs: all("ExecStart").filter_map(path).collect(), preloaded })
    }

    /// Returns the folder of its drop-ins.
    pub(super) fn folder(&self, units: &Path) -> PathBuf {
        units.join(format!("{}.d", self.name))
    }

    /// # Errors
    /// It is not active a moment after its start.
    pub(super) fn stays_active(&self) -> Result<()> {
        std::thread::sleep(STAYS);
        let state = systemctl(&["show", "--property=ActiveState", "--value", "--", &self.name])?;
        // A service of type oneshot without RemainAfterExit has done its work.
        ensure!(["active", "reloading", "inactive"].contains(&state.trim()), "it is {}", state.trim());
        Ok(())
    }

    pub(super) fn main_process(&self) -> Result<Option<u32>> {
        let pid = systemctl(&["show", "--property=MainPID", "--value", "--", &self.name])?;
        Ok(pid.trim().parse().ok().filter(|pid| *pid != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROPERTIES: &str = "\
LoadState=loaded
ExecStart={ path=/usr/sbin/a ; argv[]=/usr/sbin/a -g x ; ignore_errors=no ; pid=0 }
ExecStart={ path=/usr/bin/b c ; argv[]=/usr/bin/b ; ignore_errors=no ; pid=0 }
Environment=A=1 LD_PRELOAD=old.so \"LD_PRELOAD=a.so b.so\"
";

    #[test]
    fn programs_and_variables_are_read() {
        let unit = Unit::read("a.service".into(), PROPERTIES).unwrap();
        assert_eq!(unit.programs, [Path::new("/usr/sbin/a"), Path::new("/usr/bin/b c")]);
        assert_eq!(unit.preloaded, "a.so b.so", "the last one holds");
        assert_eq!(unit.folder(Path::new("/x")), Path::new("/x/a.service.d"));
    }

    #[test]
    fn units_that_cannot_be_used_are_refused() {
        let refused = |state: &str| Unit::read("a.service".into(), state).err().unwrap().to_string();
        assert!(refused("LoadState=not-found\n").contains("no unit a.service"));
        assert!(refused("LoadState=masked\n").contains("it is masked"));
        assert!(refused("").contains("not known"));
        assert!(Unit::find("../a").is_err() && Unit::find("--x").is_err());
    }
}
