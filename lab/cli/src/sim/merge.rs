//! `turnwise-lab sim merge`: the parts of a sweep put together, byte for byte equal to the sweep run in one go.

use super::part::Part;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use turnwise_present::{input_file, json, printable};
use turnwise_simbench::report::{FORMAT, SimReport};

/// A part, and the file it was read from.
pub(super) struct Read<'a> {
    file: &'a Path,
    report: SimReport,
}

/// Reads the files and puts them together.
///
/// # Errors
/// A file is not part of a sweep, or not of the same one; parts overlap, or some are missing.
pub(crate) fn merge(files: &[PathBuf]) -> Result<SimReport> {
    let parts = files.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?;
    let first = parts.first().context("name the parts' files")?;
    for part in &parts[1..] {
        same_sweep(first, part)?;
    }
    whole(&parts)
}

fn read(file: &Path) -> Result<Read<'_>> {
    let text = input_file::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parsed(file, &text)
}

/// Returns a part from the text of its file.
pub(super) fn parsed<'a>(file: &'a Path, text: &str) -> Result<Read<'a>> {
    let name = file.display();
    let value: serde_json::Value = serde_json::from_str(text).with_context(|| format!("{name} is not JSON"))?;
    match value.get("format").and_then(serde_json::Value::as_str) {
        Some(FORMAT) => {}
        Some(other) => {
            bail!("{name} has format {}, this program reads {FORMAT}: use the same version for all", printable(other))
        }
        None => bail!("{name} is not a report of `turnwise-lab sim --json`: it has no field `format`"),
    }
    let report: SimReport = json::read(text).with_context(|| format!("{name} is not a complete report"))?;
    let beyond = report.cells.iter().find(|cell| cell.index >= report.cells_in_all);
    if let Some(cell) = beyond {
        bail!("{name} has a cell {} of {}: the file is damaged", cell.index, report.cells_in_all);
    }
    Ok(Read { file, report })
}

fn same_sweep(first: &Read<'_>, part: &Read<'_>) -> Result<()> {
    let commits = first.report.commit.is_some() && part.report.commit.is_some();
    let pairs = facts(&first.report).into_iter().zip(facts(&part.report));
    for ((what, there), (_, here)) in pairs.filter(|((what, _), _)| commits || *what != "commit of turnwise") {
        let (first, part) = (first.file.display(), part.file.display());
        ensure!(here == there, "{part} is of another sweep than {first}: its {what} is {here}, there it is {there}");
    }
    Ok(())
}

/// Returns what parts of one sweep have in common.
fn facts(report: &SimReport) -> [(&'static str, String); 11] {
    let shown = |value: &dyn Debug| format!("{value:?}");
    [
        ("machine", shown(&report.machine.name)),
        ("fingerprint of the machine", shown(&report.machine.fingerprint)),
        ("description of the machine", shown(&report.machine)),
        ("seed", shown(&report.seed)),
        ("workload", shown(&report.workload)),
        ("duration", shown(&report.duration_ns)),
        ("warm-up", shown(&report.warm_up_ns)),
        ("command", shown(&report.command)),
        ("commit of turnwise", shown(&report.commit)),
        ("number of parts", shown(&report.part.1)),
        ("number of cells", shown(&report.cells_in_all)),
    ]
}

fn whole(parts: &[Read<'_>]) -> Result<SimReport> {
    let mut report = parts[0].report.clone();
    let mut owners: BTreeMap<u32, &Path> = BTreeMap::new();
    for part in parts {
        for cell in &part.report.cells {
            if let Some(other) = owners.insert(cell.index, part.file) {
                let (other, file) = (other.display(), part.file.display());
                bail!("{other} and {file} both have cell {}: name each part once", cell.index);
            }
        }
    }
    if let Some(index) = (0..report.cells_in_all).find(|index| !owners.contains_key(index)) {
        let files: Vec<String> = parts.iter().map(|part| part.file.display().to_string()).collect();
        bail!(
            "{} of {} cells are missing; the first is cell {index} of part {}: add its file to {}",
            report.cells_in_all as usize - owners.len(),
            report.cells_in_all,
            Part::owning(index, report.part.1.max(1)),
            files.join(" ")
        );
    }
    report.cells = parts.iter().flat_map(|part| part.report.cells.iter().cloned()).collect();
    report.cells.sort_by_key(|cell| cell.index);
    // Known only where the sources are.
    report.commit = parts.iter().find_map(|part| part.report.commit.clone());
    report.part = (Part::WHOLE.k, Part::WHOLE.n);
    Ok(report)
}

/// Returns a part that is all of its sweep.
#[cfg(test)]
pub(super) fn alone(part: Read<'_>) -> Result<SimReport> {
    whole(&[part])
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use turnwise_present::json::text;

    struct Files {
        directory: tempfile::TempDir,
        whole: SimReport,
    }

    impl Files {
        fn new() -> Files {
            let mut whole = fixture::report(&["a", "b", "c"], &[(1, 1), (3, 3), (7, 7)]);
            whole.cells[4].result = Err(fixture::stuck());
            Files { directory: tempfile::tempdir().unwrap(), whole }
        }

        fn part(&self, k: u32, n: u32, change: impl Fn(&mut SimReport)) -> PathBuf {
            let mut part = SimReport { part: (k, n), ..self.whole.clone() };
            part.cells.retain(|cell| cell.index % n + 1 == k);
            change(&mut part);
            let file = self.directory.path().join(format!("{k}of{n}.json"));
            std::fs::write(&file, text(&part).unwrap()).unwrap();
            file
        }
    }

    #[test]
    fn the_parts_in_any_order_are_the_whole_byte_for_byte() {
        let files = Files::new();
        for n in [1, 2, 4, 9, 12] {
            let parts: Vec<PathBuf> = (1..=n).rev().map(|k| files.part(k, n, |_| {})).collect();
            assert_eq!(text(&merge(&parts).unwrap()).unwrap(), text(&files.whole).unwrap(), "{n} parts");
        }
    }

    #[track_caller]
    fn refused(files: &[PathBuf], words: &[&str]) {
        let complaint = format!("{:#}", merge(files).unwrap_err());
        for word in words {
            assert!(complaint.contains(word), "no {word:?} in {complaint}");
        }
    }

    #[test]
    fn parts_of_another_sweep_are_named() {
        let files = Files::new();
        let first = files.part(1, 2, |_| {});
        type Change = fn(&mut SimReport);
        let changes: [(&str, Change); 7] = [
            ("seed is 9", |report| report.seed = 9),
            ("fingerprint", |report| report.machine.fingerprint = "g".to_owned()),
            ("machine is \"x\"", |report| report.machine.name = "x".to_owned()),
            ("command", |report| report.command += " --lock z"),
            ("commit", |report| report.commit = Some("z".to_owned())),
            ("number of parts is 3", |report| report.part.1 = 3),
            ("number of cells", |report| report.cells_in_all = 12),
        ];
        for (word, change) in changes {
            let second = files.part(2, 2, change);
            refused(&[first.clone(), second], &["2of2.json is of another sweep than", "1of2.json", word]);
        }
    }

    #[test]
    fn overlaps_gaps_and_other_files_are_named() {
        let files = Files::new();
        let (first, third) = (files.part(1, 3, |_| {}), files.part(3, 3, |_| {}));
        refused(&[first.clone(), first.clone()], &["1of3.json and", "both have cell 0"]);
        refused(&[first.clone(), third], &["3 of 9 cells", "cell 1 of part 2/3", "1of3.json"]);
        let file = files.directory.path().join("other.json");
        for (content, word) in [
            ("{", "other.json is not JSON"),
            ("{}", "has no field `format`"),
            ("{\"format\": \"turnwise-sim/0\"}", "other.json has format turnwise-sim/0"),
            ("{\"format\": \"turnwise-sim/1\"}", "not a complete report"),
        ] {
            std::fs::write(&file, content).unwrap();
            refused(&[first.clone(), file.clone()], &[word]);
        }
        refused(&[files.directory.path().join("none.json")], &["cannot read", "none.json"]);
        refused(&[files.part(1, 1, |report| report.cells_in_all = 3)], &["cell 3 of 3", "damaged"]);
    }
}
