//! Names as people write them.

use cpp_demangle::{DemangleOptions, Symbol};
use std::borrow::Cow;

/// The name as its author wrote it, with the types of its parameters; others stay.
#[must_use]
pub fn with_parameters(mangled: &str) -> Cow<'_, str> {
    addr2line::demangle_auto(Cow::Borrowed(mangled), None)
}

/// Demangles a name of C++ (without parameters: with file and line they only take room) or Rust; others stay.
pub(super) fn name(mangled: &str) -> String {
    // Versions of dynamic symbols: `pthread_create@@GLIBC_2.34`.
    let plain = mangled.split('@').next().unwrap_or(mangled);
    if let Ok(rust) = rustc_demangle::try_demangle(plain) {
        return format!("{rust:#}");
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let parsed = plain.starts_with("_Z").then(|| Symbol::new(plain).ok()).flatten();
    let shown = parsed.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    shown.unwrap_or_else(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn demangles_what_is_mangled() {
        assert_eq!(name("_ZN12kyotocabinet5Mutex4lockEv"), "kyotocabinet::Mutex::lock");
        assert_eq!(name("_RNvCs1234_7mycrate4main"), "mycrate::main");
        assert_eq!(name("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(name("pthread_create@@GLIBC_2.34"), "pthread_create");
        assert_eq!(name("main"), "main");
    }
}
