//! Sets the shared library's name for the dynamic linker: programs request `libturnwise.so` and the major version. Once
//! loaded, it stays loaded: a thread that has contended for a lock calls it when it exits.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libturnwise.so.{major}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
