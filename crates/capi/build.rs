//! Names the shared library for the dynamic linker: programs ask for `libturnwise.so` and the major version. It stays
//! loaded once it was: a thread that contended for a lock calls it when it exits.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libturnwise.so.{major}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
