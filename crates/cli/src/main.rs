//! The `turnwise` program.

fn main() {}
