//! From keys to lines, and from serde's errors to ours.

use super::error::{Fault, SpecError};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys farther than this from a known one are not taken for a slip of the hand.
const SIMILAR: f64 = 0.7;

/// An error of the TOML reader, with the full key and what to do.
pub(super) fn explain(error: &toml::de::Error, text: &str, origin: &str) -> SpecError {
    let line = error.span().filter(|_| !text.is_empty()).map(|span| line_at(text, span.start));
    let Ok(root) = DeTable::parse(text) else {
        let remedy = "mend the TOML here: `key = value` lines below `[table]` lines";
        return Fault::new("", format!("not TOML: {}", error.message()), remedy).at(origin, line);
    };
    let key = error.span().and_then(|place| key_at(&root, &place)).unwrap_or_default();
    fault(error.message(), &key).at(origin, line)
}

fn fault(message: &str, key: &str) -> Fault {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field") && !names.is_empty() {
        Fault::new(key, "no such key", suggestion(names[0], &names[1..]))
    } else if message.starts_with("unknown variant") && !names.is_empty() {
        Fault::new(key, format!("no such value: {:?}", names[0]), suggestion(names[0], &names[1..]))
    } else if message.starts_with("missing field") && !names.is_empty() {
        let full = if key.is_empty() { names[0].to_owned() } else { format!("{key}.{}", names[0]) };
        Fault::new(full, "missing", remedy_of_missing(names[0]))
    } else {
        Fault::new(key, message, "give a value of the kind that docs/machine-files.md names for this key")
    }
}

fn remedy_of_missing(name: &str) -> &'static str {
    match name {
        "source" => {
            "say where the numbers come from; if there is no source, add `provisional = true` and how you got them"
        }
        "unit" => "add `unit = \"ns\"` or `unit = \"cycles\"`",
        _ => "add it; docs/machine-files.md says what it means",
    }
}

fn suggestion(given: &str, known: &[&str]) -> String {
    let likeness = |name: &&&str| strsim::jaro_winkler(given, name);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let list = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match nearest.filter(|name| likeness(name) > SIMILAR) {
        Some(name) => format!("did you mean `{name}`? Known here: {list}"),
        None => format!("known here: {list}"),
    }
}

/// The line where this key stands, or the nearest table around it.
pub(super) fn line_of(text: &str, key: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut steps = key.split('.').flat_map(|part| part.split('['));
    let mut value = root.get_ref().get(steps.next()?)?;
    for step in steps {
        let inner = match step.strip_suffix(']') {
            Some(index) => index.parse::<usize>().ok().and_then(|index| value.get_ref().get(index)),
            None => value.get_ref().get(step),
        };
        match inner {
            Some(inner) => value = inner,
            None => break,
        }
    }
    Some(line_at(text, value.span().start))
}

/// The key whose name or value is this place of the text: an error points at a name or a value as a whole, and at the
/// table (or the whole text) in which something is missing.
fn key_at(root: &Spanned<DeTable<'_>>, place: &Range<usize>) -> Option<String> {
    search_table(root.get_ref(), "", place)
}

fn search_table(table: &DeTable<'_>, path: &str, place: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let key = if path.is_empty() { name.get_ref().to_string() } else { format!("{path}.{}", name.get_ref()) };
        if name.span() == *place { Some(key) } else { search_value(value, key, place) }
    })
}

fn search_value(value: &Spanned<DeValue<'_>>, key: String, place: &Range<usize>) -> Option<String> {
    let within = match value.get_ref() {
        DeValue::Table(table) => search_table(table, &key, place),
        DeValue::Array(array) => {
            let mut items = array.iter().enumerate();
            items.find_map(|(index, item)| search_value(item, format!("{key}[{index}]"), place))
        }
        _ => None,
    };
    within.or_else(|| (value.span() == *place).then_some(key))
}

fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1
}
