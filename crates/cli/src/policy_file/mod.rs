//! Policy files: which locks of a program get which policy. `docs/policy-files.md` is the manual.
//!
//! | file | what |
//! |---|---|
//! | `parse.rs`, `rule.rs` | the TOML: rules, and errors in them |
//! | `module.rs` | a program's initial modules, and their symbols (functions and lines: `turnwise_profile`) |
//! | `scope.rs` | the programs and modules that rules are looked up in |
//! | `find.rs`, `why.rs` | what a rule matches there, and why it matches nothing |
//! | `compile.rs` | compiles rules and modules to a table |
//! | `names.rs` | names that match a pattern, and similar ones |
//! | `check.rs` | `turnwise policy check` |

mod check;
mod compile;
mod find;
mod module;
mod names;
mod parse;
mod rule;
mod scope;
mod why;

pub(crate) use check::{Args, run};
pub(crate) use compile::{Compiled, compile};
pub(crate) use parse::{PolicyFile, number, symbol_of};
pub(crate) use rule::Subject;
