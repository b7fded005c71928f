//! What both programs, `turnwise` and `turnwise-lab`, share.
//!
//! | file | what |
//! |---|---|
//! | `usage.rs` | the command line, and complaints about it that say what to type |
//! | `ending.rs` | errors with an exit status, and the last words of a program |
//! | `pages.rs` | manual pages and completions, from the table of flags |
//! | `draft.rs` | files that the user asked for |
//! | `own_locks.rs` | a program that measures leaves our preload library first |
//! | `figures.rs` | numbers as people read them |
//! | `machine.rs` | what a report says of the machine and of the program that made it |
//! | `cpus.rs`, `others.rs` | which CPUs there are; what other programs took of them |

pub mod cpus;
pub mod draft;
pub mod ending;
pub mod figures;
pub mod machine;
pub mod others;
pub mod own_locks;
pub mod pages;
pub mod usage;
