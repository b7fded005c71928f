//! Programs whose file no longer exists when their names are looked up.

use crate::common::{compiled, expect, scratch, shown};

#[test]
fn a_program_that_runs_from_memory_or_whose_file_is_removed_has_names() {
    let folder = scratch();
    for form in ["memory", "removed"] {
        for mode in [&[][..], &["--lock", "adaptive"], &["--waits"]] {
            let program = compiled(folder.path(), "hidden");
            let (report, _) = expect(0, &[&["profile"], mode, &["--", shown(&program), form]].concat());
            assert!(report.contains("serves_customers (hidden.c:"), "{form} {mode:?}\n{report}");
            assert!(report.contains("till"), "{form} {mode:?}\n{report}");
        }
    }
}
