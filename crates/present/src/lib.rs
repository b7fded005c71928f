//! What both programs, `turnwise` and `turnwise-lab`, share.
//!
//! | file | what |
//! |---|---|
//! | `usage.rs` | the command line, and complaints about it that say what to type |
//! | `ending.rs` | errors with an exit status, and the last words of a program |
//! | `pages.rs` | manual pages and completions, from the table of flags |
//! | `output_file.rs`, `json.rs` | files that the user asked for; reports as JSON |
//! | `own_locks.rs` | a program that measures leaves our preload library first |
//! | `figures.rs`, `stats.rs` | numbers as people read them; medians and quantiles |
//! | `names.rs` | the name that a misspelt one was meant to be |
//! | `toml_file.rs` | what is wrong in a TOML file, with the line |
//! | `printable.rs` | text of others on a terminal |
//! | `table.rs`, `progress.rs`, `chart.rs` | tables and progress bars; axes of pictures |
//! | `machine.rs` | what a report says of the machine and of the program that made it |
//! | `quota.rs` | a CPU quota for this process and for what it starts |
//! | `input_file.rs` | files that a user names to be read |
//! | `folder.rs` | folders that a program makes for its user |
//! | `cpus.rs`, `others.rs`, `spent.rs` | which CPUs there are; what other programs took of them; what this one did |
//!
//! Only programs parse arguments and draw tables: they turn on the feature `program`, libraries do not.

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
pub mod toml_file;
#[cfg(feature = "program")]
pub mod usage;

pub use printable::{printable, printable_message};
