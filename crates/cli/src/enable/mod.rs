//! `turnwise enable` and `turnwise disable`: a systemd unit on our locks, by a drop-in of its own.

mod systemd;

use crate::policy;
use crate::policy_file::{PolicyFile, compile};
use crate::preload::Library;
use crate::preload::install::write_for_all;
use crate::program::native_of;
use crate::status::why_not_loaded;
use anyhow::{Context, Error, Result, bail, ensure};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use systemd::{Unit, systemctl};
use turnwise_preload_abi::libraries::{PRELOAD, SHARED, is_library};
use turnwise_preload_abi::{Policy, environment};
use turnwise_present::ending::print;

/// The folder of the administrator's units.
const UNITS: &str = "/etc/systemd/system";
/// Where the library goes if no package has installed it.
const LIBRARIES: &str = "/usr/local/lib";
/// The name of the drop-in, and of a policy file's table beside it.
const DROP_IN: &str = "turnwise.conf";
const TABLE: &str = "turnwise.table";

/// Put a systemd unit on Turnwise's locks, by a drop-in
///
/// First checks each program that the unit starts: the loader must take the library into it. The drop-in puts the
/// library before the unit's own LD_PRELOAD, and takes effect when the unit starts the next time. With --now the unit
/// is restarted; if it does not start, the drop-in is as before, and the unit restarted so. If a step before fails,
/// nothing stays changed.
///
/// Exit status: 0, 1 if the unit did not start or is not on our locks, 2 for errors.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  turnwise enable --print nginx
  sudo turnwise enable --now nginx
  sudo turnwise enable --policy nginx.toml nginx && sudo systemctl restart nginx
  sudo turnwise disable --now nginx")]
pub(crate) struct Args {
    /// The unit, with or without `.service`
    unit: String,
    /// The locks to run on [default: adaptive]
    #[arg(long, value_name = "POLICY", value_parser = policy::parser(), conflicts_with = "policy")]
    lock: Option<Policy>,
    /// A policy file, which gives individual locks their own policies (docs/policy-files.md)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print the drop-in, and change nothing
    #[arg(long, conflicts_with = "now")]
    print: bool,
    /// Restart the unit
    #[arg(long)]
    now: bool,
    /// The folder for drop-ins; /run/systemd/system: until the next boot
    #[arg(long, value_name = "FOLDER", default_value = UNITS)]
    into: PathBuf,
}

/// Take a systemd unit off Turnwise's locks again
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sudo turnwise disable --now nginx")]
pub(crate) struct DisableArgs {
    /// The unit, with or without `.service`
    unit: String,
    /// Restart the unit
    #[arg(long)]
    now: bool,
    /// The folder for drop-ins
    #[arg(long, value_name = "FOLDER", default_value = UNITS)]
    into: PathBuf,
}

/// Writes the drop-in, or prints it.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let unit = Unit::find(&args.unit)?;
    let Some(program) = unit.programs.first() else { bail!("{} starts no program", unit.name) };
    unit.programs.iter().try_for_each(|program| native_of(program).map(drop))?;
    let folder = unit.folder(&args.into);
    let table = args.policy.as_ref().map(|file| table(file, program)).transpose()?;
    let packaged = Library::packaged();
    let library = packaged.clone().unwrap_or_else(|| Path::new(LIBRARIES).join(SHARED));
    let locks = match (&table, args.lock) {
        (Some(_), _) => format!("{}={}", environment::POLICY_TABLE, folder.join(TABLE).display()),
        (None, lock) => format!("{}={}", environment::LOCK, lock.unwrap_or(policy::DEFAULT)),
    };
    let text = drop_in(&unit, &library, &locks);
    if args.print {
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    // The same library, where turnwise keeps its own: nothing changes before the loader has taken it.
    let tried = Library::install()?;
    unit.programs.iter().try_for_each(|program| takes(program, &tried.path))?;
    let library = packaged.is_none().then(|| (library, Library::content().to_vec(), 0o755));
    let table = table.map(|table| (folder.join(TABLE), table, 0o644));
    let drop_in = (folder.join(DROP_IN), text.into_bytes(), 0o644);
    let changed = Changed::to(&folder, library.into_iter().chain(table).chain([drop_in]))?;
    if let Err(error) = systemctl(&["daemon-reload"]) {
        return Err(changed.taken_back(error));
    }
    if !args.now {
        print(&format!("wrote {}\nnext: systemctl restart {}\n", folder.join(DROP_IN).display(), unit.name))?;
        return Ok(ExitCode::SUCCESS);
    }
    restart(&unit, &changed)
}

pub(crate) fn disable(args: &DisableArgs) -> Result<ExitCode> {
    let unit = Unit::find(&args.unit)?;
    let folder = unit.folder(&args.into);
    ensure!(
        folder.join(DROP_IN).exists(),
        "{} has no drop-in of turnwise in {}; `systemctl cat {0}` shows those that it has",
        unit.name,
        args.into.display()
    );
    remove(&folder)?;
    systemctl(&["daemon-reload"])?;
    if args.now {
        systemctl(&["restart", &unit.name])?;
    }
    print(&format!("removed {}\n", folder.join(DROP_IN).display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the table of a policy file for the program; warnings about the file go to standard error.
fn table(file: &Path, program: &Path) -> Result<Vec<u8>> {
    let file = PolicyFile::read(file)?;
    let compiled = compile(&file, program)?;
    let warnings = compiled.shown_warnings(&file);
    if !warnings.is_empty() {
        eprintln!("{warnings}");
    }
    Ok(compiled.table)
}

/// Returns the drop-in. `locks`: the variable that says which locks.
fn drop_in(unit: &Unit, library: &Path, locks: &str) -> String {
    let entries = unit.preloaded.split([':', ' ']).filter(|entry| !entry.is_empty());
    let own = entries.filter(|entry| !is_library(entry.as_bytes(), PRELOAD));
    let all: Vec<&str> = library.to_str().into_iter().chain(own).collect();
    let quoted = |variable: &str| variable.replace('%', "%%").replace('\\', "\\\\").replace('"', "\\\"");
    let preload = quoted(&format!("LD_PRELOAD={}", all.join(":")));
    format!(
        "# Written by `turnwise enable`; `turnwise disable {}` removes it.\n[Service]\nEnvironment=\"{preload}\"\n\
         Environment=\"{}\"\n",
        unit.name,
        quoted(locks)
    )
}

/// # Errors
/// The loader does not take the library into the program. It loads both, but does not start the program.
fn takes(program: &Path, library: &Path) -> Result<()> {
    let mut loads = Command::new(program);
    let loaded = loads.env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_PRELOAD", library).output();
    let loaded = loaded.with_context(|| format!("cannot start {}", program.display()))?;
    let listed = String::from_utf8_lossy(&loaded.stdout).into_owned();
    let shown = library.display().to_string();
    ensure!(
        loaded.status.success() && listed.contains(&shown),
        "the loader does not take {shown} into {}: {}",
        program.display(),
        String::from_utf8_lossy(&loaded.stderr).trim()
    );
    Ok(())
}

/// A file's content, and who may use it.
type Content = (Vec<u8>, u32);

/// A file: its path, its content, and who may use it.
type Entry = (PathBuf, Vec<u8>, u32);

/// Files that were written, as they were before.
struct Changed<'a> {
    /// The folder of the drop-in, which goes with its last file.
    folder: &'a Path,
    /// `None`: there was no such file.
    before: Vec<(PathBuf, Option<Content>)>,
}

impl Changed<'_> {
    /// Writes the files; if one cannot be written, those before it are as they were.
    fn to(folder: &Path, files: impl Iterator<Item = Entry>) -> Result<Changed<'_>> {
        let mut changed = Changed { folder, before: Vec::new() };
        for (path, content, mode) in files {
            let written = changed.keep(&path).and_then(|()| {
                let above = path.parent().unwrap_or(folder);
                fs::create_dir_all(above).with_context(|| format!("cannot make {}; be root", above.display()))?;
                write_for_all(&path, &content, mode)
            });
            if let Err(error) = written {
                return Err(changed.taken_back(error));
            }
        }
        Ok(changed)
    }

    fn keep(&mut self, path: &Path) -> Result<()> {
        let found = match fs::read(path) {
            Ok(content) => Some((content, fs::metadata(path)?.mode() & 0o777)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        self.before.push((path.to_owned(), found));
        Ok(())
    }

    fn take_back(&self) -> Result<()> {
        for (path, before) in &self.before {
            match before {
                Some((content, mode)) => write_for_all(path, content, *mode)?,
                None if path.exists() => {
                    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
                }
                None => {}
            }
        }
        let _ = fs::remove_dir(self.folder); // there may be drop-ins of others
        Ok(())
    }

    /// Puts the files back after an error; returns it, with what then failed.
    fn taken_back(&self, error: Error) -> Error {
        match self.take_back() {
            Ok(()) => error,
            Err(other) => error.context(format!("what was written cannot be taken back ({other:#})")),
        }
    }
}

fn remove(folder: &Path) -> Result<()> {
    let drop_in = folder.join(DROP_IN);
    fs::remove_file(&drop_in).with_context(|| format!("cannot remove {}; be root", drop_in.display()))?;
    // There may be no table, and drop-ins of others.
    let _ = fs::remove_file(folder.join(TABLE));
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// Restarts the unit; takes back what was changed if it does not start.
fn restart(unit: &Unit, changed: &Changed) -> Result<ExitCode> {
    let name = &unit.name;
    let started = systemctl(&["restart", name]).and_then(|_| unit.stays_active());
    if let Err(error) = started {
        changed.take_back()?;
        systemctl(&["daemon-reload"])?;
        let back = systemctl(&["restart", name])
            .map_or_else(|error| format!("nor does it so: {error:#}"), |_| "it runs as before".to_owned());
        eprintln!("turnwise: {name} does not start on our locks ({error:#}); the drop-in is as before, {back}");
        return Ok(ExitCode::FAILURE);
    }
    if let Some(why) = unit.main_process()?.and_then(why_not_loaded) {
        eprintln!("turnwise: {name} runs, but has not the library: {why}");
        return Ok(ExitCode::FAILURE);
    }
    print(&format!("{name} runs on our locks; `turnwise status` shows them\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_units_own_preloaded_libraries_stay_behind_ours() {
        let unit = |preloaded: &str| Unit { name: "a.service".into(), programs: vec![], preloaded: preloaded.into() };
        let text = |unit: Unit| drop_in(&unit, Path::new("/l/libturnwise_preload.so.0"), "TURNWISE_LOCK=queued");
        assert_eq!(
            text(unit("libjemalloc.so.2 /old/libturnwise_preload-1.so")),
            "# Written by `turnwise enable`; `turnwise disable a.service` removes it.\n[Service]\n\
             Environment=\"LD_PRELOAD=/l/libturnwise_preload.so.0:libjemalloc.so.2\"\n\
             Environment=\"TURNWISE_LOCK=queued\"\n"
        );
        assert!(text(unit("/a%b.so")).contains(".so.0:/a%%b.so\""));
    }

    #[test]
    fn files_that_were_written_are_taken_back() {
        let place = tempfile::tempdir().unwrap();
        let (folder, library) = (place.path().join("unit.d"), place.path().join("lib.so"));
        fs::write(&library, "old").unwrap();
        let files = |last: PathBuf| {
            let library = (library.clone(), b"new".to_vec(), 0o755);
            [library, (folder.join(DROP_IN), b"text".to_vec(), 0o644), (last, b"table".to_vec(), 0o644)]
        };
        let changed = Changed::to(&folder, files(folder.join(TABLE)).into_iter()).unwrap();
        assert_eq!(
            (fs::read(&library).unwrap(), fs::read(folder.join(TABLE)).unwrap()),
            (b"new".into(), b"table".into())
        );
        changed.take_back().unwrap();
        assert!(fs::read(&library).unwrap() == b"old" && !folder.exists());
        let refused = Changed::to(&folder, files(library.join("no folder")).into_iter()).err().unwrap();
        assert!(format!("{refused:#}").contains("lib.so"), "{refused:#}");
        assert!(fs::read(&library).unwrap() == b"old" && !folder.exists(), "those before the refused one");
    }
}
