//! Hands the linker the machine's memory map.

fn main() {
    let machine = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo names the target");
    let map = format!("{}/src/{machine}/memory.ld", env!("CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed={map}");
    println!("cargo:rustc-link-arg-bins=-T{map}");
}
