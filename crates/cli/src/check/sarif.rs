//! The report as SARIF 2.1.0, which code hosts show beside the source.

use super::Checked;
use super::suppressions::Suppression;
use serde_json::{Value, json};
use std::env::current_dir;
use std::path::Path;
use turnwise_profile::hazards::Hazard;

/// The kinds of hazards, each with its level and meaning.
const RULES: [(&str, &str, &str); 3] = [
    ("cycle", "warning", "Locks are taken in orders that may lead to a deadlock"),
    ("deadlock", "error", "Threads wait for one another forever"),
    ("misuse", "error", "A thread does with a mutex what POSIX forbids"),
];

/// Returns the document.
pub(super) fn document(checked: &Checked) -> Value {
    let rules = RULES.map(|(id, level, text)| {
        json!({ "id": id, "shortDescription": { "text": text }, "defaultConfiguration": { "level": level } })
    });
    let found = checked.found.iter().map(|hazard| (hazard, None));
    let suppressed = checked.suppressed.iter().map(|(hazard, by)| (hazard, Some(by)));
    let results: Vec<Value> = found.chain(suppressed).map(|(hazard, by)| result(hazard, by)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "turnwise", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": results,
        }],
    })
}

fn result(hazard: &Hazard, by: Option<&Suppression>) -> Value {
    let location = |(file, line): &(String, u32)| {
        let artifact = json!({ "uri": uri(Path::new(file)) });
        json!({ "physicalLocation": { "artifactLocation": artifact, "region": { "startLine": line } } })
    };
    let suppressions: Vec<Value> =
        by.iter().map(|by| json!({ "kind": "external", "justification": by.reason })).collect();
    let level = RULES.iter().find(|(id, ..)| *id == hazard.kind).map(|(_, level, _)| level);
    json!({
        "ruleId": hazard.kind,
        "level": level,
        "message": { "text": hazard.text().trim_end() },
        "locations": hazard.places.iter().map(location).collect::<Vec<_>>(),
        "suppressions": suppressions,
    })
}

/// Returns a file as a URI: relative to the current directory if it is below, as code hosts want it.
fn uri(file: &Path) -> String {
    let below = current_dir().ok().and_then(|here| Some(file.strip_prefix(here).ok()?.to_owned()));
    let shown = below.as_deref().unwrap_or(file).display().to_string();
    let start = if shown.starts_with('/') { "file://" } else { "" };
    let encoded = shown.bytes().map(|byte| match byte {
        b'/' | b'.' | b'-' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    start.to_owned() + &encoded.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_uris() {
        assert_eq!(uri(Path::new("src/a b+.c")), "src/a%20b%2B.c");
        assert_eq!(uri(Path::new("/nowhere/ö.c")), "file:///nowhere/%C3%B6.c");
        assert_eq!(uri(&current_dir().unwrap().join("x.c")), "x.c");
    }
}
