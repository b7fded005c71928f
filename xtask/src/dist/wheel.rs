//! The Python wheel: made, installed in an otherwise empty environment, and used.

use super::machine::Machine;
use super::portable::{self, GLIBC, pip};
use super::{Args, VERSION, empty_folder, notices, use_tool};
use crate::command::{Run, cmd};
use crate::root::{copy, read, write};
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Threads that share a mutex in Python itself: its own lock of the interpreter.
const PROGRAM: &str = "\
import threading
maps = open('/proc/self/maps').read()
assert 'libturnwise_preload' in maps, 'not on our locks'
count = []
threads = [threading.Thread(target=lambda: [count.append(0) for _ in range(10000)]) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print('python counted', len(count))
";

/// Makes and tries it.
pub(super) fn run(_: &Args) -> Result<String> {
    let (python, built) = (portable::python()?, portable::build(&Machine::own())?);
    let (source, folder) = (empty_folder("wheel-source")?, empty_folder("wheel")?);
    let platform = format!("manylinux_{}_{}", GLIBC.replace('.', "_"), std::env::consts::ARCH);
    lay(&built, &source, &platform)?;
    let mut make = pip(&python, "wheel --quiet --no-deps --no-build-isolation --wheel-dir");
    make.arg(&folder).arg(source).must()?;
    let name = format!("turnwise-{VERSION}-py3-none-{platform}.whl");
    let wheel = folder.join(&name);
    ensure!(wheel.exists(), "there is no {}", wheel.display());
    Ok(format!("{name}; {}", use_wheel(&wheel)?))
}

/// Lays out the wheel's content.
fn lay(built: &Path, to: &Path, platform: &str) -> Result<()> {
    copy(built.join("turnwise"), to.join("turnwise"))?;
    for text in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(text, to.join(text))?;
    }
    write(to.join("THIRD-PARTY"), notices::of("turnwise-cli")?)?;
    for file in ["README.md", "pyproject.toml", "tag.py"] {
        let text = read(format!("packaging/wheel/{file}"))?;
        write(to.join(file), text.replace("@VERSION@", VERSION).replace("@PLATFORM@", platform))?;
    }
    Ok(())
}

fn use_wheel(wheel: &Path) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let fresh = folder.path().join("fresh");
    cmd("python3 -m venv").arg(&fresh).must()?;
    let (python, tool) = (fresh.join("bin/python3"), fresh.join("bin/turnwise"));
    pip(&python, "install --quiet --no-index --disable-pip-version-check").arg(wheel).must()?;
    let used = use_tool(&tool)?;
    let counted = Command::new(&tool).args(["run", "--"]).arg(&python).args(["-c", PROGRAM]).text()?;
    ensure!(counted.contains("python counted 40000"), "Python says {counted}");
    pip(&python, "uninstall --quiet --yes turnwise").must()?;
    ensure!(!tool.exists(), "{} is left over", tool.display());
    Ok(used)
}
