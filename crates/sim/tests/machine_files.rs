//! Machine files: those that come with the program, and what is said about wrong ones.

use turnwise_sim::spec::{builtin, load};

#[test]
fn every_builtin_machine_loads() {
    for (name, _) in builtin() {
        let machine = load(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.name, *name);
        println!("{}", machine.describe());
    }
}
