//! Templates, in Jinja's language: what those of all programs have in common.

pub use minijinja::{Environment, value::Serde};

use crate::figures;
use anyhow::{Context, Result};
use minijinja::{UndefinedBehavior, syntax::SyntaxConfig};
use serde::Serialize;

/// Creates an environment in which a line that has nothing but a block leaves no line, and a name that is not known is
/// an error. `x|fixed(2)` is a number with two decimals, `x|signed(2)` also has its sign, `x|digits` has three digits,
/// and `ns|time` is a time.
///
/// # Panics
/// Never: the syntax is Jinja's own.
pub fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    env.set_syntax(syntax.expect("it is the usual one"));
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.add_filter("fixed", |value: f64, decimals: usize| format!("{value:.decimals$}"));
    env.add_filter("signed", |value: f64, decimals: usize| format!("{value:+.decimals$}"));
    env.add_filter("digits", figures::plain);
    env.add_filter("time", figures::time);
    env
}

/// Renders a template; `name` is that of its file, for complaints.
pub fn render(env: &Environment<'_>, name: &str, template: &str, values: impl Serialize) -> Result<String> {
    env.render_named_str(name, template, Serde(values)).with_context(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_leave_no_line_and_unknown_names_are_errors() {
        let env = environment();
        let text =
            env.render_str("a\n  {% if true %}\n{{ x|fixed(1) }}\n  {% endif %}\nb\n", minijinja::context! { x => 2 });
        assert_eq!(text.unwrap(), "a\n2.0\nb\n");
        assert!(env.render_str("{{ y }}", ()).is_err());
    }
}
