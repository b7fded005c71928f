//! A folder of raw reports, `bench/runs/DATE-MACHINE-COMMIT`: measurements of a day, on a machine, of a commit.

use super::json::file;
use super::subject::Subject;
use crate::command::{Run as _, cmd, entries, read_json};
use crate::root::write;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;
use turnwise_present::machine::{self, Machine};
use turnwise_present::others::Watch;

const ENV: &str = "env.json";

/// A folder, and what its reports share.
pub(crate) struct Record {
    pub(crate) folder: PathBuf,
    /// The content of `env.json`, without reports.
    pub(crate) env: Value,
}

/// Returns how a report was made whose run began at `start` and is over now.
pub(crate) fn over(command: String, start: Instant, watch: Option<&Watch>) -> Value {
    // The other load on the CPUs meanwhile, if it is known.
    json!({ "command": command, "seconds": start.elapsed().as_secs(), "others": watch.and_then(Watch::end) })
}

impl Record {
    /// Creates the record of today, this machine and this commit.
    pub(crate) fn now(runs: &Path) -> Result<Record> {
        let machine = Machine::here();
        let commit = machine::commit().context("git does not say which commit this is")?;
        let [date, libc] = ["date --utc +%F", "getconf GNU_LIBC_VERSION"].map(|line| cmd(line).text());
        let [date, libc] = [date?, libc?].map(|said| said.trim().to_owned());
        let folder = runs.join(format!("{date}-{}-{commit}", named(&machine)));
        // When a field changes its meaning or is removed, the number is raised. The day is in UTC; the commit has `+`
        // if sources were changed since.
        let format = "turnwise-env/1";
        let env = json!({ "format": format, "date": date, "commit": commit, "machine": machine, "libc": libc });
        Ok(Record { folder, env })
    }

    /// Writes a report, and adds how it was made to the entries of the folder's other reports.
    pub(crate) fn keep(&self, name: &str, report: Value, run: Value) -> Result<()> {
        let env = self.folder.join(ENV);
        let mut all = if env.is_file() { read_json(&env, "how others were made")? } else { self.env.clone() };
        all["runs"][name] = run;
        write(self.folder.join(name).with_extension("json"), file(report))?;
        write(env, file(all))
    }
}

/// Returns `amd-epyc-2`: the name of the CPU without common words, and the number of CPUs.
fn named(machine: &Machine) -> String {
    let cpu = machine.cpu_name().to_lowercase();
    let words = cpu.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.filter(|word| !["r", "tm", "cpu", "processor"].contains(word)).collect();
    format!("{}-{}", words.join("-"), machine.cpus)
}

/// Returns the machine in a folder's name, between date and commit.
fn machine_in(folder: &Path) -> Option<&str> {
    Some(folder.file_name()?.to_str()?.get("2026-01-01-".len()..)?.rsplit_once('-')?.0)
}

fn date_in(folder: &Path) -> Option<&str> {
    folder.file_name()?.to_str()?.get(.."2026-01-01".len())
}

/// Returns the folders with a report of this name, the newest of each machine: that of `first` first, if it has one.
pub(crate) fn newest_of_each(runs: &Path, name: &str, first: Option<&Path>) -> Result<Vec<PathBuf>> {
    let mut folders = entries(runs)?;
    folders.retain(|folder| machine_in(folder).is_some() && folder.join(name).is_file());
    folders.sort_by(|a, b| date_in(b).cmp(&date_in(a)).then_with(|| a.cmp(b)));
    let mut newest: Vec<PathBuf> = first.map(Path::to_path_buf).into_iter().collect();
    for folder in folders {
        if !newest.iter().any(|other| machine_in(other) == machine_in(&folder)) {
            newest.push(folder);
        }
    }
    Ok(newest)
}

/// Returns the newest reports on programs, of as many machines as a picture has colours: that in `first` first.
pub(crate) fn programs(runs: &Path, first: Option<&Path>) -> Result<Vec<Value>> {
    const MACHINES: usize = 2;
    let subject = Subject::named("programs")?;
    newest_of_each(runs, "programs.json", first)?.iter().take(MACHINES).map(|folder| subject.read(folder)).collect()
}

/// Returns the path from one folder to another.
pub(super) fn relative(from: &Path, to: &Path) -> PathBuf {
    let same = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    up.chain(to.components().skip(same)).collect()
}

/// Returns the command line, as it could be typed again.
pub(crate) fn command_line() -> String {
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=~^,+@".contains(c));
    let word = |word: String| if plain(&word) { word } else { format!("'{word}'") };
    std::iter::once("cargo xtask".to_owned()).chain(std::env::args().skip(1).map(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_page_to_the_report() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(way("docs/results", "bench/runs/x"), "../../bench/runs/x");
        assert_eq!(way("/tmp/a", "/tmp/a/x"), "x");
    }

    fn machine(cpu: &str) -> Machine {
        Machine { cpu: Some(cpu.to_owned()), cpus: 2, ..Machine::here() }
    }

    #[test]
    fn machines_have_short_names() {
        assert_eq!(named(&machine("Intel(R) Xeon(R) Processor")), "intel-xeon-2");
        assert_eq!(named(&machine("AMD EPYC")), "amd-epyc-2");
        assert_eq!(named(&Machine { cpu: None, arch: "aarch64".to_owned(), ..machine("") }), "aarch64-2");
    }

    #[test]
    fn reports_of_one_folder_share_their_env() {
        let runs = tempfile::tempdir().unwrap();
        let env = json!({ "format": "turnwise-env/1", "date": "2026-11-24", "commit": "c", "machine": machine("x"),
            "libc": "glibc 2.36" });
        let record = Record { folder: runs.path().join("2026-11-24-x-2-c"), env };
        let run = |command: &str| over(command.to_owned(), Instant::now(), None);
        record.keep("mutex", json!([1.5]), run("first")).unwrap();
        record.keep("spin", json!([2.5]), run("second")).unwrap();
        record.keep("spin", json!([3.5]), run("third")).unwrap();
        let env: serde_json::Value = read_json(record.folder.join(ENV), "").unwrap();
        assert_eq!(
            (&env["runs"]["mutex"]["command"], &env["runs"]["spin"]["command"]),
            (&"first".into(), &"third".into())
        );
        assert_eq!(std::fs::read_to_string(record.folder.join("spin.json")).unwrap(), "[3.5]\n");
    }

    #[test]
    fn of_each_machine_the_newest_counts() {
        let runs = tempfile::tempdir().unwrap();
        for name in ["2026-11-22-a-2-1", "2026-11-23-a-2-2", "2026-11-22-b-2-3", "2026-11-24-c-2-4", "note"] {
            std::fs::create_dir(runs.path().join(name)).unwrap();
            if !name.contains("-c-") {
                std::fs::write(runs.path().join(name).join("x.json"), "{}").unwrap();
            }
        }
        let found = |first: Option<&Path>| -> Vec<String> {
            let found = newest_of_each(runs.path(), "x.json", first).unwrap();
            found.iter().map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(found(None), ["2026-11-23-a-2-2", "2026-11-22-b-2-3"]);
        assert_eq!(found(Some(&runs.path().join("2026-11-22-b-2-3"))), ["2026-11-22-b-2-3", "2026-11-23-a-2-2"]);
        assert_eq!(found(Some(&runs.path().join("2026-11-22-a-2-1"))), ["2026-11-22-a-2-1", "2026-11-22-b-2-3"]);
    }
}
