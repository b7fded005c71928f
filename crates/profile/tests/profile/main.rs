//! Profiles through every output and the advice, read back as others would read them.

mod fixture;
mod json;
mod stacks;
mod sums;
