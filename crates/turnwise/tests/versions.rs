//! Two versions of the crate in one program, as when a program and one of its dependencies require different ones.
#![cfg(all(target_os = "linux", not(miri)))]

use std::fs;
use std::path::Path;
use std::process::Command;

const MAIN: &str = r#"
macro_rules! contend {
    ($locks:ident) => {{
        static COUNT: $locks::Mutex<u32> = $locks::Mutex::new(0);
        let count = || (0..10_000).for_each(|_| *COUNT.lock() += 1);
        let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(count)).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert_eq!(*COUNT.lock(), 30_000);
    }};
}

fn main() {
    contend!(turnwise);
    contend!(earlier);
}
"#;

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to read").map(|entry| entry.expect("its entry")) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

#[test]
fn two_versions_link_and_run_side_by_side() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("two-versions");
    let earlier = folder.join("earlier");
    let _ = fs::remove_dir_all(&earlier);
    copy_folder(&own.join("src"), &earlier.join("src"));
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let features = ["spin", "native", "thread-events", "stats", "order-check", "lock_api"];
    let features = features.map(|name| format!("{name} = []\n")).concat();
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.0.7\"\nedition = \"2024\"\n");
    let dependencies = "atomic-maybe-uninit = { version = \"0.3\", default-features = false }\nlibc = \"0.2\"\n";
    let asked = "features = [\"native\", \"spin\", \"thread-events\"]";
    let both = format!(
        "turnwise = {{ path = {own:?}, {asked} }}\n\
         earlier = {{ package = \"turnwise\", path = \"earlier\", {asked} }}\n"
    );
    // One unit of code for each crate, so that a symbol of both versions does not depend on chance.
    let profile = "[profile.dev]\ncodegen-units = 1\n";
    let files = [
        ("earlier/Cargo.toml", format!("{}[features]\n{features}[dependencies]\n{dependencies}", package("turnwise"))),
        ("Cargo.toml", format!("{}[workspace]\n{profile}[dependencies]\n{both}", package("two-versions"))),
        ("src/main.rs", MAIN.to_owned()),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("a file");
    }
    fs::copy(own.join("../../Cargo.lock"), folder.join("Cargo.lock")).expect("the versions that are here");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        // If these tests are built with a sanitizer, this program is not.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .current_dir(&folder)
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
