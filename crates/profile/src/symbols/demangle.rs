//! Names as people write them. The program's author chose them: they must not control a terminal.

use cpp_demangle::{DemangleOptions, Symbol};
use std::borrow::Cow;
use turnwise_present::printable;

/// Returns the name as its author wrote it, with the types of its parameters; other names stay unchanged.
pub fn with_parameters(mangled: &str) -> Cow<'_, str> {
    match addr2line::demangle_auto(Cow::Borrowed(mangled), None) {
        Cow::Borrowed(same) => printable(same),
        Cow::Owned(name) => printable(&name).into_owned().into(),
    }
}

/// Demangles a name of C++ (without parameters: with file and line they only take room) or Rust; others stay unchanged.
pub fn without_parameters(mangled: &str) -> String {
    // Versions of dynamic symbols: `pthread_create@@GLIBC_2.34`.
    let plain = mangled.split('@').next().unwrap_or(mangled);
    if let Ok(rust) = rustc_demangle::try_demangle(plain) {
        return printable(&format!("{rust:#}")).into_owned();
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let parsed = plain.starts_with("_Z").then(|| Symbol::new(plain).ok()).flatten();
    let shown = parsed.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    printable(shown.as_deref().unwrap_or(plain)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{with_parameters, without_parameters as name};

    #[test]
    fn demangles_what_is_mangled() {
        assert_eq!(name("_ZN12kyotocabinet5Mutex4lockEv"), "kyotocabinet::Mutex::lock");
        assert_eq!(name("_RNvCs1234_7mycrate4main"), "mycrate::main");
        assert_eq!(name("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(name("pthread_create@@GLIBC_2.34"), "pthread_create");
        assert_eq!(name("main"), "main");
    }

    #[test]
    fn a_name_is_no_command_to_a_terminal() {
        for hostile in ["\u{1b}]0;title\u{7}", "_ZN5\u{1b}[2Jx4lockEv", "f\u{202e}"] {
            let shown = [name(hostile), with_parameters(hostile).into_owned()];
            assert!(shown.iter().all(|name| !name.contains(['\u{1b}', '\u{7}', '\u{202e}'])), "{shown:?}");
        }
    }
}
