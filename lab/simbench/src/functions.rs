//! Which function a place in the source is in.

/// A function of the locks or the workloads.
struct Function {
    /// From the workspace's root.
    file: &'static str,
    /// Line and column of its `fn`.
    from: (u32, u32),
    /// Line and column of what follows its end.
    to: (u32, u32),
    /// With the type or the module that it belongs to.
    name: &'static str,
}

/// All of them, written by `build.rs`; nested functions come after the enclosing ones.
static FUNCTIONS: &[Function] = include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Returns the function around a place, as `LinuxMutex::lock_slow`; `None` for code that a macro writes.
#[must_use]
pub fn at(file: &str, line: u32, column: u32) -> Option<&'static str> {
    let place = (line, column);
    let around = |f: &&Function| file.ends_with(f.file) && f.from <= place && place < f.to;
    FUNCTIONS.iter().rfind(around).map(|f| f.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_innermost_function() {
        fn inner() -> Option<&'static str> {
            at(file!(), line!(), column!())
        }
        assert_eq!(at(file!(), line!(), column!()), Some("tests::places_are_in_the_innermost_function"));
        assert_eq!(inner(), Some("tests::inner"));
        assert_eq!(at(file!(), 1, 1), None);
        assert_eq!(at("crates/nothing/src/lib.rs", 1, 1), None);
    }

    #[test]
    fn functions_of_all_locks_are_known() {
        for name in ["RawMutex::lock", "LinuxMutex::lock", "RawSpinLock::take", "backoff::backoff", "Sim::think"] {
            assert!(FUNCTIONS.iter().any(|f| f.name == name), "{name}");
        }
    }
}
