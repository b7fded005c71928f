//! Templates, in Jinja's language: what those of all programs have in common.

use minijinja::{Environment, UndefinedBehavior, syntax::SyntaxConfig};

/// Creates an environment in which a line that has nothing but a block leaves no line, a name that is not known is an
/// error, and `x|fixed(2)` is a number with two decimals.
///
/// # Panics
/// Never: the syntax is Jinja's own.
#[must_use]
pub fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    env.set_syntax(syntax.expect("it is the usual one"));
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.add_filter("fixed", |value: f64, decimals: usize| format!("{value:.decimals$}"));
    env
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
