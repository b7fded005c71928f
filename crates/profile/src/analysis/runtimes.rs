//! Runtimes of languages that have locks of their own: what a profile of pthread's locks shows of them.

use crate::template::{context, lines};
use std::collections::BTreeSet;
use std::path::Path;

/// Runtimes, and the names of their files up to a number or a dot: a line each.
const FILES: &str = include_str!("runtimes.txt");
/// The variable of Python's interpreter. The only locks of pthread in it are those of the global interpreter lock.
const PYTHON: &str = "_PyRuntime";
/// The name of that lock in reports.
const GIL: &str = "Python's GIL";
/// The names of those of interpreters within a process, which are no variables: by the functions that use them.
const OF_INTERPRETERS: [&str; 3] = ["in take_gil", "in drop_gil", "in create_gil"];

pub(crate) fn of_file(name: &str) -> Option<&'static str> {
    let is_it = |beginning: &str| {
        let rest = name.strip_prefix(beginning);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|next: char| next == '.' || next.is_ascii_digit()))
    };
    FILES.lines().filter_map(|line| line.split_once(' ')).find(|(_, file)| is_it(file)).map(|(runtime, _)| runtime)
}

/// Returns what the reader of a profile should know of the runtimes among these files.
pub(crate) fn remarks<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let runtimes: BTreeSet<&str> = files.filter_map(|file| of_file(file.file_name()?.to_str()?)).collect();
    lines(include_str!("../../assets/runtimes.jinja"), context! { runtimes })
}

/// Returns a variable's name as reports show it.
pub(crate) fn named(variable: String) -> String {
    if variable.starts_with(PYTHON) { format!("{GIL} ({variable})") } else { variable }
}

/// Returns whether a lock or condition variable is a part of Python's global interpreter lock, by its name in reports.
pub(crate) fn is_gil(name: &str) -> bool {
    name.starts_with(GIL) || OF_INTERPRETERS.iter().any(|function| name.contains(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_told_by_their_files() {
        let found = ["libjvm.so", "python3.11", "libpython3.11.so.1.0", "python", "node", "nodejs", "libnode.so.108"];
        let runtimes = ["java", "python", "python", "python", "node", "node", "node"];
        assert_eq!(found.map(of_file), runtimes.map(Some));
        for other in ["server", "libc.so.6", "node_exporter", "pythonic", "libjvmti.so"] {
            assert_eq!(of_file(other), None, "{other}");
        }
    }

    #[test]
    fn each_runtime_has_a_remark_that_says_what_to_enter() {
        let of = |files: &[&'static str]| remarks(files.iter().map(Path::new));
        assert!(of(&["/usr/bin/server", "/usr/lib/libc.so.6"]).is_empty());
        for (file, remedy) in [
            ("/jvm/lib/server/libjvm.so", "asprof -e lock"),
            ("/usr/bin/python3.11", "concurrent.futures.ProcessPoolExecutor"),
            ("/usr/bin/node", "node --cpu-prof"),
        ] {
            let said = of(&[file, "/usr/lib/libc.so.6", file]);
            assert!(said.len() == 1 && said[0].contains(remedy), "{said:?}");
        }
    }

    #[test]
    fn the_global_interpreter_lock_has_its_name() {
        assert_eq!(named("_PyRuntime+376".to_owned()), "Python's GIL (_PyRuntime+376)");
        let names = ["_PyRuntime+376", "used in take_gil", "cache", "taken in serve"].map(str::to_owned);
        assert_eq!(names.map(|name| is_gil(&named(name))), [true, true, false, false]);
    }
}
