//! Profiles from files: recordings, and JSON that an earlier run wrote.

use anyhow::{Context, Result, bail};
use std::cmp::Reverse;
use std::io::Read;
use std::path::{Path, PathBuf};
use turnwise_present::input_file;
use turnwise_profile::analysis::{analyse, analyse_with, unrecorded, waited};
use turnwise_profile::figures::listed;
use turnwise_profile::model::Profile;
use turnwise_profile::output::json;
use turnwise_profile::symbols::Kept;
use turnwise_recording::MAGIC;
use turnwise_recording::reader::{Error, Recording, unused};

/// Reads a recording or a JSON profile; fails if the file is neither, or damaged.
pub(super) fn read(path: &Path) -> Result<Profile> {
    let shown = path.display();
    let start = start_of(path).with_context(|| format!("--from {shown}"))?;
    if start == MAGIC.to_ne_bytes() {
        let recording = Recording::read(path).with_context(|| format!("--from {shown}"))?;
        return analyse(&recording).with_context(|| format!("--from {shown}"));
    }
    if start.first() != Some(&b'{') {
        bail!("--from {shown}: it is neither a recording (turnwise profile --recording) nor a JSON profile (--json)");
    }
    let text = input_file::read(path).with_context(|| format!("--from {shown}"))?;
    json::read(&text).with_context(|| format!("--from {shown}"))
}

/// Reads the first bytes of a file, the length of a recording's magic number.
pub(super) fn start_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    input_file::open(path)?.take(8).read_to_end(&mut start)?;
    Ok(start)
}

/// Lists the recordings of a run: the file itself, and those of its children next to it.
pub(super) fn family(path: &Path) -> Result<Vec<PathBuf>> {
    let name = path.file_name().context("the recording has no name")?.to_string_lossy().into_owned() + ".";
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = vec![path.to_owned()];
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let entry_name = entry.file_name().to_string_lossy().into_owned();
        let rest = entry_name.strip_prefix(&name);
        if rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Removes the children's recordings of an earlier run next to a recording that is about to be made again. Other files
/// whose names look like a child's stay.
pub(super) fn remove_children(path: &Path) -> Result<()> {
    for child in family(path)?.into_iter().filter(|file| file != path) {
        let start = start_of(&child).with_context(|| format!("cannot read {}", child.display()))?;
        if start == MAGIC.to_ne_bytes() {
            std::fs::remove_file(&child).with_context(|| format!("cannot remove {}", child.display()))?;
        }
    }
    Ok(())
}

/// Makes the profile of each process; fails if no file is a sound recording.
pub(super) fn each_of_family(files: &[PathBuf], open: &Kept) -> Result<Vec<Profile>, Error> {
    let mut profiles = Vec::new();
    let mut first_error = None;
    for file in files {
        match Recording::read(file).and_then(|recording| profile_of(&recording, open)) {
            Ok(profile) => profiles.push(profile),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if profiles.is_empty() { Err(first_error.unwrap_or(Error::Unused)) } else { Ok(profiles) }
}

fn profile_of(recording: &Recording, open: &Kept) -> Result<Profile, Error> {
    analyse_with(recording, open).map_err(|_| Error::Damaged("it adds up to what no run can have"))
}

/// Makes the profile of the process that waited most, with the files that were kept while it ran, and names the others
/// in a remark; fails if no file is a sound recording.
pub(super) fn of_family<'a>(files: &'a [PathBuf], open: &Kept, kept: bool) -> Result<(Profile, &'a Path), Error> {
    let mut all = Vec::new();
    let mut first_error = None;
    let missing = files.first().and_then(|main| unused(main).ok()).and_then(|header| unrecorded(&header));
    for file in files {
        match Recording::read(file) {
            Ok(recording) => all.push((recording, file)),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    all.sort_by_key(|(recording, _)| Reverse(weight(recording)));
    let mut all = all.into_iter();
    let Some((main, file)) = all.next() else { return Err(first_error.unwrap_or(Error::Unused)) };
    let mut profile = profile_of(&main, open)?;
    // The main recording counts these, whichever is reported on.
    if let Some(missing) = missing.filter(|missing| !profile.recording.missing.contains(missing)) {
        profile.recording.missing.insert(0, missing);
    }
    let others: Vec<_> = all.filter(|(recording, _)| weight(recording).1 > 0).collect();
    if !others.is_empty() {
        let most = if weight(&main).0 > 0 { "waited most" } else { "took most locks" };
        profile.recording.remarks.push(remark(most, &others, kept));
    }
    Ok((profile, file))
}

/// Counts the ticks waited, and the acquisitions.
fn weight(recording: &Recording) -> (u64, u64) {
    (waited(recording), recording.entries.iter().map(|entry| entry.acquisitions).sum())
}

fn remark(most: &str, others: &[(Recording, &PathBuf)], kept: bool) -> String {
    const SHOWN: usize = 3;
    let named = others.iter().map(|(recording, file)| {
        let command = recording.header.command.split(|byte| *byte == 0).next().unwrap_or_default();
        let command = String::from_utf8_lossy(command);
        let place = if kept { format!(" ({})", file.display()) } else { String::new() };
        format!("{} {command}{place}", recording.header.pid)
    });
    let advice = if kept { "read them with --from" } else { "--recording FILE keeps them" };
    let (number, named) = (others.len(), listed(named, SHOWN, ", "));
    format!("this profile is of the process that {most}; {number} more took locks: {named}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_an_earlier_run_go_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["run", "run.17", "run.17.1", "run.old"] {
            turnwise_recording::writer::create(&at(name)).unwrap();
        }
        std::fs::write(at("run.18"), "notes").unwrap();
        remove_children(&at("run")).unwrap();
        let left: Vec<bool> =
            ["run", "run.17", "run.17.1", "run.18", "run.old"].iter().map(|name| at(name).exists()).collect();
        assert_eq!(left, [true, false, false, true, true]);
    }
}
