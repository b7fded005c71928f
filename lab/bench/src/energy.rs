//! The processors' energy, where the machine reports it: the counters of Linux's powercap (RAPL), one for each package.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Where Linux shows them.
const FOLDER: &str = "/sys/class/powercap";

/// The counters of this machine, or why there are none.
static METER: LazyLock<Result<Meter, String>> = LazyLock::new(|| Meter::find(Path::new(FOLDER)));

/// What the counters showed at one time: microjoules.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Reading(Vec<u64>);

/// Reads this machine's counters; `None`: it has none.
pub(crate) fn read() -> Option<Reading> {
    METER.as_ref().ok()?.read()
}

/// Returns the joules from one reading to a later one.
pub(crate) fn joules(begin: &Reading, end: &Reading) -> Option<f64> {
    Some(METER.as_ref().ok()?.joules(begin, end))
}

/// Returns why energy is left out; `None`: it is not.
pub(crate) fn left_out() -> Option<String> {
    METER.as_ref().err().cloned()
}

struct Meter(Vec<Counter>);

struct Counter {
    file: PathBuf,
    /// After this value it wraps to zero.
    most_uj: u64,
}

impl Meter {
    /// Returns the counters of whole packages in a folder: `intel-rapl:0`, and not its parts `intel-rapl:0:0`.
    fn find(folder: &Path) -> Result<Meter, String> {
        let missing = || format!("no energy counter of a package in {}", folder.display());
        let mut packages: Vec<PathBuf> =
            fs::read_dir(folder).map_err(|_| missing())?.flatten().map(|e| e.path()).collect();
        packages.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().matches(':').count() == 1));
        packages.sort();
        let mut counters = Vec::new();
        for package in packages {
            let file = package.join("energy_uj");
            let most_uj = number(&package.join("max_energy_range_uj"));
            match (number(&file), most_uj) {
                (Ok(_), Ok(most_uj)) => counters.push(Counter { file, most_uj }),
                (Err(why), _) | (_, Err(why)) => return Err(format!("{}: {why} (root may read it)", file.display())),
            }
        }
        if counters.is_empty() { Err(missing()) } else { Ok(Meter(counters)) }
    }

    fn read(&self) -> Option<Reading> {
        self.0.iter().map(|counter| number(&counter.file).ok()).collect::<Option<_>>().map(Reading)
    }

    fn joules(&self, begin: &Reading, end: &Reading) -> f64 {
        let one = |((counter, begin), end): ((&Counter, &u64), &u64)| match end.checked_sub(*begin) {
            Some(used) => used,
            None => counter.most_uj.saturating_sub(*begin) + end,
        };
        self.0.iter().zip(&begin.0).zip(&end.0).map(one).sum::<u64>() as f64 / 1e6
    }
}

fn number(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    text.trim().parse().map_err(|_| format!("{} is no number", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &Path, name: &str, uj: u64) {
        fs::create_dir_all(folder.join(name)).expect("there is room");
        fs::write(folder.join(name).join("energy_uj"), format!("{uj}\n")).expect("it can be written");
        fs::write(folder.join(name).join("max_energy_range_uj"), "10000000\n").expect("it can be written");
    }

    #[test]
    fn packages_are_added_up_and_counters_that_began_again_go_on() {
        let folder = tempfile::tempdir().expect("there is room");
        let set = |one, two| {
            package(folder.path(), "intel-rapl:0", one);
            package(folder.path(), "intel-rapl:1", two);
            // A part of the first, which has it already.
            package(folder.path(), "intel-rapl:0:0", one);
        };
        set(1_000_000, 9_000_000);
        let meter = Meter::find(folder.path()).expect("there are two");
        let begin = meter.read().expect("they can be read");
        set(3_000_000, 500_000);
        let end = meter.read().expect("they can be read");
        assert_eq!(meter.joules(&begin, &end), 2.0 + 1.5);
    }

    #[test]
    fn a_machine_that_does_not_tell_says_why() {
        let why = |folder: &Path| Meter::find(folder).err().expect("there is none");
        assert!(why(Path::new("/no/such")).contains("no energy counter"));
        let folder = tempfile::tempdir().expect("there is room");
        assert!(why(folder.path()).contains("no energy counter"));
        fs::create_dir(folder.path().join("intel-rapl:0")).expect("there is room");
        assert!(why(folder.path()).contains("root may read it"));
    }
}
