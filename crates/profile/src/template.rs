//! Templates of texts for people, and what these can call.
//!
//! | in a template | what |
//! |---|---|
//! | `ns\|time`, `n\|count`, `n\|plural("wait", "waits")`, `n\|percent(all)` | figures in sentences |
//! | `ns\|t`, `n\|n`, `n\|some("wait", "waits")`, `n\|share(all)` | the same in few columns; an unknown one is `-` |
//! | `text\|left(20)` | spaces fill the text up to this width |
//! | `fit("for ", name, " by ", other, ": 3 s")` | a line: names share the room that the rest leaves; lists are chains |
//! | `line(indent, text)` | a line, which is shortened if it is too long |
//! | `fits(text)`, `joined(indent, a, b)` | whether one line has room for it; both on one line, or on two |
//! | `wrapped(text, indent)` | lines, the second and further ones after the indent |

use crate::figures;
use crate::text::lines as columns;
pub use minijinja::context;
use minijinja::value::Rest;
pub use minijinja::value::{Serde, Value};
use minijinja::{Environment, Template};
use std::sync::LazyLock;

/// A template of ours.
pub struct Words(Template<'static, 'static>);

impl Words {
    /// Reads a template.
    ///
    /// # Panics
    /// It is wrong.
    pub fn of(template: &'static str) -> Words {
        static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);
        Words(ENVIRONMENT.template_from_str(template).unwrap_or_else(|error| panic!("{error:#}: {template}")))
    }

    /// Returns the text.
    ///
    /// # Panics
    /// The template is wrong, whatever the values are: each is rendered in a test.
    pub fn render(&self, values: Value) -> String {
        self.0.render(values).unwrap_or_else(|error| panic!("{error:#}"))
    }
}

/// Renders a template of which each line is a text of its own.
pub fn lines(template: &'static str, values: Value) -> Vec<String> {
    Words::of(template).render(values).lines().map(str::to_owned).collect()
}

fn environment() -> Environment<'static> {
    let mut env = turnwise_present::template::environment();
    env.add_filter("time", figures::time);
    env.add_filter("count", figures::count);
    env.add_filter("plural", |n: u64, one: String, more: String| figures::plural(n, &one, &more));
    env.add_filter("percent", figures::percent);
    env.add_filter("t", |ns: Option<u64>| ns.map_or_else(unknown, short::time));
    env.add_filter("n", |n: Option<u64>| n.map_or_else(unknown, short::count));
    env.add_filter("share", short::share);
    env.add_filter("some", |n: Option<u64>, one: String, more: String| {
        format!("{} {}", n.map_or_else(unknown, short::count), if n == Some(1) { one } else { more })
    });
    env.add_filter("left", |text: String, width: usize| format!("{text:<width$}"));
    env.add_function("fit", fit);
    env.add_function("line", |indent: usize, text: String| columns::line(indent, &text));
    env.add_function("fits", |text: String| columns::fits(&text));
    env.add_function("joined", |indent: String, a: String, b: String| columns::joined(&indent, &a, &b));
    env.add_function("wrapped", |text: String, indent: String| columns::wrapped(&text, &indent));
    env
}

fn unknown() -> String {
    "-".to_owned()
}

fn fit(parts: Rest<Value>) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in parts.iter() {
        match part.try_iter() {
            Ok(chain) if part.as_str().is_none() => {
                let names = chain.map(|name| name.to_string());
                words.extend(names.flat_map(|name| [" < ".to_owned(), name]).skip(1));
            }
            _ => words.push(part.to_string()),
        }
    }
    let after = if words.len() % 2 == 1 { words.pop() } else { None };
    let parts: Vec<(&str, &str)> = words.chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    columns::fitted(&parts, &after.unwrap_or_default())
}

/// Figures in few columns.
mod short {
    use turnwise_present::figures::{percent, short};

    pub(super) fn time(ns: u64) -> String {
        if ns == 0 { "0".to_owned() } else { crate::figures::time(ns) }
    }

    pub(super) fn count(value: u64) -> String {
        if value < 10_000 { value.to_string() } else { short(value as f64) }
    }

    pub(super) fn share(part: u64, whole: u64) -> String {
        if whole == 0 {
            return "-".to_owned();
        }
        let share = crate::figures::share(part, whole);
        if share > 0.0 && share < 0.001 { "<0.1%".to_owned() } else { percent(share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let shown = |template: &'static str| Words::of(template).render(Value::UNDEFINED);
        assert_eq!(
            [0, 999, 1500, 12_345_678, 999_600_000, 9_999_999_999].map(short::time),
            ["0", "999 ns", "1.50 us", "12.3 ms", "1.00 s", "10.0 s"]
        );
        assert_eq!(
            [7, 9999, 10_000, 999_700, 1_234_567].map(short::count),
            ["7", "9999", "10.0 k", "1.00 M", "1.23 M"]
        );
        assert_eq!(
            [(0, 5), (1, 3000), (1, 100), (1, 2)].map(|(a, b)| short::share(a, b)),
            ["0%", "<0.1%", "1.0%", "50%"]
        );
        let template = "{{ 1|some('wait', 'waits') }}, {{ 2|some('wait', 'waits') }}, {{ none|some('wait', 'waits') }}";
        assert_eq!(shown(template), "1 wait, 2 waits, - waits");
        assert_eq!(shown("{{ fit('by ', ['a', 'b', 'c']) }} {{ fit('x', 'y', 'z') }}"), "by a < b < c xyz");
    }
}
