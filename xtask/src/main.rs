//! Checks that CI runs.

fn main() {}
