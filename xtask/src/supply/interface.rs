//! The library's interface, compared with the kept list, and its examples. `cargo semver-checks` knows which changes
//! break a program; this finds every change, in seconds, and needs only the toolchain.

use crate::command::{Run, cmd};
use crate::root::{read, write};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The list: of the crate `turnwise` with all its features, on Linux and x86-64.
const LIST: &str = "packaging/interface/turnwise.txt";
const TARGET: &str = "target/supply/interface";
/// What each type implements by its fields, and no user relies on.
const LEFT_OUT: &[&str] = &["Freeze", "UnsafeUnpin", "Unpin", "StructuralPartialEq"];

/// Compares, or writes the list.
pub(super) fn run(write_list: bool) -> Result<String> {
    let line = format!("cargo rustdoc --quiet --locked -p turnwise --lib --all-features --target-dir {TARGET}");
    // The pinned toolchain, whose format is known: a nightly one has another every few weeks.
    cmd(&(line + " -- -Zunstable-options --output-format json")).env("RUSTC_BOOTSTRAP", "1").must()?;
    let documented = Path::new(TARGET).join("doc/turnwise.json");
    let api = public_api::Builder::from_rustdoc_json(&documented).omit_blanket_impls(true).build();
    let api =
        api.context("rustdoc's JSON is of another version than xtask's `public-api` reads: take that of rustc's")?;
    let mut seen = BTreeSet::new();
    // A type's implementation of a trait is listed with both.
    let is_new = |line: &String| !is_left_out(line) && seen.insert(line.clone());
    let now: Vec<String> = api.items().map(|item| item.to_string()).filter(is_new).collect();
    let (types, without) = examples(&serde_json::from_str(&read(&documented)?)?)?;
    ensure!(without.is_empty(), "no example in the documentation of {}", without.join(", "));
    if write_list {
        write(LIST, now.join("\n") + "\n")?;
    }
    let kept = read(LIST)?;
    let wrong = differences(&kept.lines().collect(), &now.iter().map(String::as_str).collect());
    ensure!(
        wrong.is_empty(),
        "the interface is not as in {LIST}:\n{}\nIf that is meant, `cargo xtask interface --write`, and a line \
         in CHANGELOG.md where a program may notice",
        wrong.join("\n")
    );
    Ok(format!("{} lines as in {LIST}; {types} types, each with an example", now.len()))
}

fn is_left_out(line: &str) -> bool {
    let implemented = line.split_once(" for ").filter(|_| line.starts_with("impl")).map_or("", |(what, _)| what);
    let name = implemented.rsplit("::").next().unwrap_or_default();
    LEFT_OUT.contains(&name)
}

fn differences(kept: &BTreeSet<&str>, now: &BTreeSet<&str>) -> Vec<String> {
    let gone = kept.difference(now).map(|line| format!("- {line}"));
    gone.chain(now.difference(kept).map(|line| format!("+ {line}"))).collect()
}

/// Returns the number of public types, traits and type names in rustdoc, and those documented without an example.
fn examples(documented: &Value) -> Result<(usize, Vec<String>)> {
    let index = documented["index"].as_object().context("no `index`")?;
    let (mut types, mut without) = (0, Vec::new());
    for item in index.values() {
        let kind = ["struct", "enum", "union", "trait", "type_alias"];
        let is_type = kind.iter().any(|kind| item["inner"].get(kind).is_some());
        // Only what can be named: rustdoc leaves out the rest.
        if !is_type || item["visibility"] != "public" || item["crate_id"] != 0 {
            continue;
        }
        types += 1;
        if !item["docs"].as_str().unwrap_or_default().lines().any(|line| line.trim_start() == "```") {
            without.push(format!("`{}`", item["name"].as_str().unwrap_or("?")));
        }
    }
    without.sort();
    ensure!(types > 0, "rustdoc knows no type");
    Ok((types, without))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_gone_and_one_that_is_new_are_found() {
        let (kept, now) = (BTreeSet::from(["pub fn a()", "pub fn b()"]), BTreeSet::from(["pub fn b()", "pub fn c()"]));
        assert_eq!(differences(&kept, &now), ["- pub fn a()", "+ pub fn c()"]);
        assert!(differences(&kept, &kept).is_empty());
    }

    #[test]
    fn what_fields_decide_is_left_out_but_for_send_and_sync() {
        assert!(is_left_out("impl<T> core::marker::Freeze for a::B<T>"));
        assert!(!is_left_out("impl<T> core::marker::Send for a::B<T>"));
        assert!(!is_left_out("impl<T> !core::marker::Send for a::Freeze<T>"));
    }

    #[test]
    fn a_type_without_an_example_is_named() {
        let item = |docs: &str| -> Value {
            serde_json::json!({
                "crate_id": 0, "visibility": "public", "name": "T", "docs": docs, "inner": { "struct": {} }
            })
        };
        let of = |docs: &str| examples(&serde_json::json!({ "index": { "1": item(docs) } })).unwrap();
        assert_eq!(of("A type.\n\n```\nassert!(true);\n```"), (1, Vec::new()));
        assert_eq!(of("A type.\n\n```text\na picture\n"), (1, vec!["`T`".to_owned()]));
    }
}
