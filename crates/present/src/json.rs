//! A report as a JSON document.

use crate::ending::print;
use crate::output_file::OutputFile;
use crate::printable;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Formats the report as JSON: the same bytes for the same report.
pub fn text(report: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(report).context("the report has no JSON form")? + "\n")
}

/// Reads a report, possibly from an untrusted source: its names are shown on terminals.
///
/// # Errors
/// It is not such a report, or has text that a terminal would interpret, which none of ours has.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    shows_only(&serde_json::from_str(text).context("it is not JSON")?)?;
    // Parsed from the text again: a `Value` would round the numbers.
    Ok(serde_json::from_str(text)?)
}

fn shows_only(value: &Value) -> Result<()> {
    match value {
        Value::String(text) => plain(text),
        Value::Array(values) => values.iter().try_for_each(shows_only),
        Value::Object(fields) => {
            fields.iter().try_for_each(|(name, value)| plain(name).and_then(|()| shows_only(value)))
        }
        _ => Ok(()),
    }
}

fn plain(text: &str) -> Result<()> {
    let obeyed = text.split('\n').find(|line| printable(line) != *line);
    ensure!(obeyed.is_none(), "it has text that a terminal would obey: {:?}", obeyed.unwrap_or_default());
    Ok(())
}

/// Prints the text for people, unless standard output is for the document (`--json -`), and writes the document.
pub fn publish(report: &impl Serialize, people: &str, json: Option<OutputFile>) -> Result<()> {
    if !json.as_ref().is_some_and(OutputFile::is_stdout) {
        print(people)?;
    }
    json.map_or(Ok(()), |output_file| output_file.write(text(report)?.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_report_of_others_has_no_text_that_a_terminal_obeys() {
        let read = |text: &str| read::<BTreeMap<String, Vec<String>>>(text).map_err(|error| format!("{error:#}"));
        assert_eq!(read(r#"{"locks": ["größe", "two\nlines"]}"#).expect("it is plain")["locks"].len(), 2);
        for hostile in [r#"{"a": ["\u001b[2J"]}"#, r#"{"\u001b[2J": []}"#, r#"{"a": ["\u202edrawkcab"]}"#] {
            let shown = read(hostile).expect_err("it was taken");
            assert!(shown.contains("a terminal would obey") && !shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        }
        assert!(read("{").expect_err("it was taken").contains("it is not JSON"));
        assert!(read("{\"a\": 1}").is_err());
    }
}
