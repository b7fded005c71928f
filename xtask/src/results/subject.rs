//! The subjects of measurement, a page in `docs/results` each: `subjects.toml`; and what their pages are made of.

use super::record::relative;
use super::template::render;
use crate::command::{read_json, rows};
use crate::root::read;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A page.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subject {
    /// The name of its files.
    pub(crate) name: String,
    title: String,
    #[serde(default)]
    lock: Option<String>,
    /// Arguments of `turnwise-lab`; empty: `cargo xtask programs` measures it.
    #[serde(skip_serializing)]
    pub(crate) command: Vec<String>,
}

/// All pages, in the order in which they are measured.
pub(crate) static SUBJECTS: LazyLock<Vec<Subject>> =
    LazyLock::new(|| rows(include_str!("subjects.toml")).expect("each test reads it"));

/// What a template of a page or a picture knows: all of the report besides.
#[derive(Serialize)]
struct Values<'a> {
    #[serde(flatten)]
    subject: &'a Subject,
    /// `bench`, `reproduce` or `programs`.
    kind: &'a str,
    #[serde(flatten)]
    report: &'a Value,
    /// In a picture: this report, and of programs the newest ones of other machines.
    reports: &'a [Value],
    /// In a page: the folder of the report, as seen from there, and its name.
    folder: [&'a str; 2],
}

impl Subject {
    /// Returns the one of this name.
    pub(crate) fn named(name: &str) -> Result<&'static Subject> {
        SUBJECTS.iter().find(|subject| subject.name == name).with_context(|| format!("no subject is called `{name}`"))
    }

    /// Returns its file in a folder of reports.
    pub(crate) fn file(&self, folder: &Path) -> PathBuf {
        folder.join(&self.name).with_extension("json")
    }

    /// Reads its report in a folder.
    pub(crate) fn read(&self, folder: &Path) -> Result<Value> {
        let (file, by) =
            (self.file(folder), if self.command.is_empty() { "cargo xtask programs" } else { "turnwise-lab" });
        let report: Value = read_json(&file, &format!("`{by}`"))?;
        ensure!(report["format"].is_string(), "{} is not a report of `{by}`", file.display());
        Ok(report)
    }

    fn kind(&self) -> &str {
        self.command.first().map_or("programs", String::as_str)
    }

    /// Returns the template of its page (`md`) or of its picture (`svg`).
    fn template(&self, of: &str) -> Result<String> {
        read(format!("{}/src/results/templates/{}.{of}.jinja", env!("CARGO_MANIFEST_DIR"), self.kind()))
    }

    /// Renders a report.
    pub(crate) fn body(&self, report: &Value) -> Result<String> {
        self.rendered(&self.template("md")?, report, &[], [""; 2])
    }

    /// Renders the page of the report in the folder `from`, for the folder `pages`.
    pub(super) fn page(&self, from: &Path, pages: &Path) -> Result<String> {
        let seen = relative(pages, from);
        let name = from.file_name().and_then(|name| name.to_str()).context("a folder of reports has no name")?;
        let folder = [seen.to_str().context("a folder's name is not text")?, name];
        let template = include_str!("templates/page.md.jinja").to_owned() + &self.template("md")?;
        self.rendered(&template, &self.read(from)?, &[], folder)
    }

    /// Draws the reports, of which that of programs has several.
    pub(super) fn picture(&self, reports: &[Value]) -> Result<String> {
        self.rendered(&self.template("svg")?, reports.first().unwrap_or(&Value::Null), reports, [""; 2])
    }

    fn rendered(&self, template: &str, report: &Value, reports: &[Value], folder: [&str; 2]) -> Result<String> {
        render(&self.name, template, Values { subject: self, kind: self.kind(), report, reports, folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_title_and_its_picture() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("x");
        std::fs::create_dir(&from).unwrap();
        let report = r#"{"format": "f", "seed": 1, "commit": "c", "score": {}, "documents": []}"#;
        std::fs::write(from.join("reproduction.json"), report).unwrap();
        let page = Subject::named("reproduction").unwrap().page(&from, &folder.path().join("p")).unwrap();
        assert_eq!(page.lines().filter(|line| line.starts_with("# ")).count(), 1, "{page}");
        assert!(page.starts_with("# The papers, reproduced\n\nAll figures are in [reproduction.json](../x/"), "{page}");
        assert!(page.contains("](reproduction.svg)\n\nSimulated, seed 1, commit c."), "{page}");
    }
}
