//! Names that match a pattern.

use turnwise_preload_abi::matches;
pub(crate) use turnwise_profile::symbols::with_parameters as demangled;
use turnwise_profile::symbols::without_parameters;

/// Returns whether `pattern` matches the symbol or function `name` (the linker's name): the name itself, the name as
/// written, with or without the types of its parameters, and without what compilers append to local names.
pub(crate) fn is_about(pattern: &str, name: &str) -> bool {
    let is = |text: &str| matches(pattern.as_bytes(), text.as_bytes());
    let name = name.split('@').next().unwrap_or(name);
    if is(name) || is(without_suffix(name)) {
        return true;
    }
    let shown = demangled(name);
    shown != name && (is(&shown) || is(&without_parameters(name)))
}

/// Cuts suffixes: `lock.0` is gcc's name of a function's `lock`; `work.part.0` and `work.cold` are pieces of `work`.
fn without_suffix(name: &str) -> &str {
    if name.starts_with("_Z") || name.starts_with("_R") {
        return name;
    }
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name)
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
            ("Cache::get", "_ZNK5Cache3getEi"),
            ("f()::m", "_ZZ1fvE1m"),
            ("f<int>", "_Z1fIiEvT_"),
            ("T<int (*)(long)>::run", "_ZN1TIPFilEE3runEi"),
            ("(anonymous namespace)::run", "_ZN12_GLOBAL__N_13runEi"),
            ("A::operator()", "_ZN1AclEi"),
        ] {
            assert!(is_about(pattern, name), "{pattern} on {name}");
        }
        assert!(!is_about("hot", "hotter") && !is_about("get", "_ZN5Cache3getEi") && !is_about("", ".x"));
    }
}
