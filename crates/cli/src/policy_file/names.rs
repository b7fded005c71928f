//! Names that match a pattern.

use std::borrow::Cow;
use turnwise_preload_abi::matches;

/// Returns the name as its author wrote it, with the types of its parameters: C++ and Rust names are demangled.
pub(crate) fn demangled(name: &str) -> Cow<'_, str> {
    turnwise_profile::symbols::with_parameters(name)
}

/// Returns whether `pattern` matches the symbol or function `name` (the linker's name): the name itself, the name as
/// written, with or without the types of its parameters, and without what compilers append to local names.
pub(crate) fn is_about(pattern: &str, name: &str) -> bool {
    let is = |text: &str| matches(pattern.as_bytes(), text.as_bytes());
    let name = name.split('@').next().unwrap_or(name);
    if is(name) || is(without_suffix(name)) {
        return true;
    }
    let shown = demangled(name);
    shown != name && (is(&shown) || is(without_parameters(&shown)))
}

/// Cuts suffixes: `lock.0` is gcc's name of a function's `lock`; `work.part.0` and `work.cold` are pieces of `work`.
fn without_suffix(name: &str) -> &str {
    if name.starts_with("_Z") || name.starts_with("_R") {
        return name;
    }
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// Cuts `Cache::get(int) const` after the name; `Cache::operator()(int)` keeps its own parentheses.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0_usize;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0
                && at > 0
                && !name[..at].ends_with("operator")
                && !name[at..].starts_with("(anonymous") =>
            {
                return name[..at].trim_end();
            }
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_linkers_compilers_and_people_have_them() {
        for (pattern, name) in [
            ("hot", "hot"),
            ("hot", "hot.0"),
            ("hot", "hot@VERSION_1"),
            ("work", "work.part.0"),
            ("_ZN5Cache5lock_E", "_ZN5Cache5lock_E"),
            ("Cache::lock_", "_ZN5Cache5lock_E"),
            ("Cache::get", "_ZN5Cache3getEi"),
            ("Cache::get(int)", "_ZN5Cache3getEi"),
            ("Cache::*", "_ZN5Cache3getEi"),
            ("f()::m", "_ZZ1fvE1m"),
        ] {
            assert!(is_about(pattern, name), "{pattern} on {name}");
        }
        assert!(!is_about("hot", "hotter") && !is_about("get", "_ZN5Cache3getEi") && !is_about("", ".x"));
    }

    #[test]
    fn parameters_are_cut_off() {
        for (name, expected) in [
            ("Cache::get(int) const", "Cache::get"),
            ("T<int (*)(long)>::run(int)", "T<int (*)(long)>::run"),
            ("(anonymous namespace)::run(int)", "(anonymous namespace)::run"),
            ("A::operator()(int)", "A::operator()"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_parameters(name), expected);
        }
    }
}
