//! Code shared by both programs, `turnwise` and `turnwise-lab`.
//!
//! | file | what |
//! |---|---|
//! | `usage.rs` | the command line, and error messages about it that state what to type |
//! | `ending.rs` | errors with an exit status, and a program's final output |
//! | `pages.rs` | manual pages and completions, from the table of flags |
//! | `output_file.rs`, `json.rs` | output files that the user requested; reports as JSON |
//! | `own_locks.rs` | a measuring program first unloads our preload library |
//! | `figures.rs`, `stats.rs` | numbers for human readers; medians and quantiles |
//! | `names.rs` | the intended name for a misspelt one |
//! | `toml_file.rs` | errors in a TOML file, with the line |
//! | `printable.rs` | untrusted text on a terminal |
//! | `table.rs`, `progress.rs`, `chart.rs` | tables and progress bars; axes of pictures |
//! | `machine.rs` | a report's description of the machine and of the program that made it |
//! | `quota.rs` | a CPU quota for this process and those that it starts |
//! | `input_file.rs` | input files named by a user |
//! | `folder.rs` | folders that a program creates for its user |
//! | `cpus.rs`, `others.rs`, `spent.rs` | the CPUs; their use by other programs; and by this one |
//!
//! Only programs parse arguments and draw tables: they enable the feature `program`, libraries do not.

pub mod chart;
pub mod cpus;
pub mod ending;
pub mod figures;
pub mod folder;
pub mod input_file;
pub mod json;
pub mod limits;
pub mod machine;
pub mod names;
pub mod others;
pub mod output_file;
pub mod own_locks;
#[cfg(feature = "program")]
pub mod pages;
mod printable;
#[cfg(feature = "program")]
pub mod progress;
pub mod quota;
pub mod spent;
pub mod stats;
#[cfg(feature = "program")]
pub mod table;
pub mod template;
pub mod toml_file;
#[cfg(feature = "program")]
pub mod usage;

pub use printable::{printable, printable_message};
