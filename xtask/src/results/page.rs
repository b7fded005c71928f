//! The page around a report: its title, where the raw report lies, how to make the page again, and the picture.

use super::subject::Subject;
use anyhow::{Context, Result};
use std::path::{Component, Path, PathBuf};

/// Returns the part before a report; `from` is the folder of the raw report, `pages` that of the page.
pub(super) fn page(subject: &Subject, body: &str, from: &Path, pages: &Path) -> Result<String> {
    let raw = relative(pages, from).to_str().context("a folder's name is not text")?.to_owned();
    let folder = from.file_name().and_then(|name| name.to_str()).context("a folder of reports has no name")?;
    let name = subject.name;
    // What the laboratory wrote may have a title of its own.
    let body = match body.split_once('\n') {
        Some((title, rest)) if title.starts_with("# ") => rest.trim_start(),
        _ => body.trim_start(),
    };
    Ok(format!(
        "# {}\n\nAll figures are in [{name}.json]({raw}/{name}.json); [env.json]({raw}/env.json) says how they were \
         measured. `cargo xtask results --from bench/runs/{folder}` writes this page and its picture.\n\n\
         ![{}]({name}.svg)\n\n{body}",
        subject.title,
        subject.shows()
    ))
}

/// Returns the path from one folder to another.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let same = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    up.chain(to.components().skip(same)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::subject::SUBJECTS;

    #[test]
    fn links_lead_from_the_page_to_the_report() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(way("docs/results", "bench/runs/x"), "../../bench/runs/x");
        assert_eq!(way("/tmp/a", "/tmp/a/x"), "x");
    }

    #[test]
    fn a_page_has_one_title_and_its_picture() {
        let subject = SUBJECTS.iter().find(|subject| subject.name == "reproduction").unwrap();
        for title in ["# The case studies, reproduced\n\n", "# The papers, reproduced\n\n", ""] {
            let page = page(subject, &format!("{title}Text.\n"), Path::new("r/x"), Path::new("p")).unwrap();
            assert_eq!(page.lines().filter(|line| line.starts_with("# ")).count(), 1, "{page}");
            assert!(page.starts_with("# The papers, reproduced\n\nAll figures are in [reproduction.json](../r/x/"));
            assert!(page.ends_with("](reproduction.svg)\n\nText.\n"), "{page}");
        }
    }
}
