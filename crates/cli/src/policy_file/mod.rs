//! Policy files: which locks of a program get which policy. `docs/policy-files.md` is the manual.
//!
//! | file | what |
//! |---|---|
//! | `parse.rs`, `rule.rs` | the TOML: rules, and what is wrong with them |
//! | `module.rs` | programs and shared objects: which a program starts with, their symbols; where functions and lines are in them, `turnwise_profile` reads |
//! | `scope.rs` | the programs and modules that rules are looked up in |
//! | `find.rs`, `why.rs` | what a rule is about there, and why it is about nothing |
//! | `compile.rs` | rules and modules become a table |
//! | `names.rs` | names that match a pattern, and those that are like it |
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
pub(crate) use parse::PolicyFile;
pub(crate) use rule::Subject;
