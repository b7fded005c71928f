//! Reports as JSON that people can read and git can compare: small values share a line, figures have six digits.

use serde_json::Value;

/// The width of a line.
const WIDTH: usize = 118;
/// A longer report keeps only the summary of its samples.
const MOST_BYTES: usize = 250_000;
/// The reports' keys for samples of single rounds.
const ROUNDS: [&str; 3] = ["rounds_ns", "rounds_voluntary_per_s", "rounds_line_ns"];

/// Returns the values in a list; none, if it is no list.
pub(crate) fn each(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a field that is a text.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

/// Returns a report as text.
pub(super) fn file(mut report: Value) -> String {
    shorten(&mut report, false);
    let whole = lines(&report, 0) + "\n";
    if whole.len() <= MOST_BYTES {
        return whole;
    }
    shorten(&mut report, true);
    lines(&report, 0) + "\n"
}

/// Rounds figures, and leaves out unknown values; `summary`: and samples of single rounds.
fn shorten(value: &mut Value, summary: bool) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            for (key, value) in fields {
                if summary && ROUNDS.contains(&key.as_str()) {
                    *value = Value::Array(Vec::new());
                }
                shorten(value, summary);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| shorten(value, summary)),
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().and_then(|figure| format!("{figure:.5e}").parse::<f64>().ok());
            *value = rounded.map_or(Value::Null, Value::from);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn lines(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    if line.len() + 2 * depth <= WIDTH {
        return line;
    }
    let inner = "  ".repeat(depth + 1);
    let listed = |brackets: [&str; 2], items: Vec<String>| {
        let items: Vec<String> = items.into_iter().map(|item| inner.clone() + &item).collect();
        format!("{}\n{}\n{}{}", brackets[0], items.join(",\n"), &inner[2..], brackets[1])
    };
    match value {
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(&**key), lines(value, depth + 1));
            listed(["{", "}"], fields.iter().map(field).collect())
        }
        Value::Array(values) => listed(["[", "]"], values.iter().map(|value| lines(value, depth + 1)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_reads_back_with_six_digits() {
        let report = json!({ "long": "x".repeat(100), "none": null, "figures": [1.234_567_89, 1e-9, 7, 2.0, null] });
        let text = file(report);
        assert_eq!(text.lines().count(), 4, "{text}");
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["figures"], json!([1.23457, 1e-9, 7, 2.0, null]));
        assert_eq!(back.get("none"), None);
    }

    #[test]
    fn a_large_report_keeps_no_single_rounds() {
        let lock = json!({ "name": "n".repeat(100), "rounds_ns": [1.5, 2.5], "median": 2.0 });
        let large = |locks: usize| json!({ "locks": vec![lock.clone(); locks] });
        assert!(file(large(100)).contains("2.5"));
        let text = file(large(2000));
        assert!(!text.contains("2.5") && text.contains("2.0"), "{}", &text[..300]);
        serde_json::from_str::<Value>(&text).unwrap();
    }
}
