//! `cargo xtask install-c`: libraries, headers, pkg-config file and CMake package, below a prefix.

use crate::root::{cargo, copy, read, target, write};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where the C API lives.
pub(crate) const CRATE: &str = "crates/capi";

/// What programs need with the static library, according to `rustc --print native-static-libs`.
const PRIVATE_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc";

#[derive(Args)]
pub(crate) struct Install {
    /// Install prefix: headers go to PREFIX/include, libraries to PREFIX/lib
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
    /// Staging directory (DESTDIR), for packagers
    #[arg(long, value_name = "DIR")]
    destdir: Option<PathBuf>,
    /// Folder of the libraries, below the prefix
    #[arg(long, value_name = "DIR", default_value = "lib")]
    libdir: String,
    /// Folder with the libraries, built before [default: they are built]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["profile", "target_dir"])]
    built: Option<PathBuf>,
    /// Build profile: `release` or `dev`
    #[arg(long, default_value = "release", value_parser = ["release", "dev"])]
    profile: String,
    /// Build folder [default: that of the workspace]
    #[arg(long, value_name = "DIR")]
    target_dir: Option<PathBuf>,
}

impl Install {
    /// Builds and installs.
    pub(crate) fn run(&self) -> Result<bool> {
        let built = self.built.clone().map_or_else(|| self.build(), Ok)?;
        let prefix = std::path::absolute(&self.prefix).context("the prefix is not a valid path")?;
        let root = match &self.destdir {
            Some(destdir) => destdir.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
            None => prefix.clone(),
        };
        lay(&built, &root, &prefix, &self.libdir)?;
        println!("installed below {}", root.display());
        Ok(true)
    }

    /// Builds; the folder with the libraries.
    fn build(&self) -> Result<PathBuf> {
        let target = self.target_dir.clone().unwrap_or_else(target);
        let mut build = cargo("build --quiet --package turnwise-capi --target-dir");
        let built = build.arg(&target).args(["--profile", &self.profile]).status().context("cannot start cargo")?;
        ensure!(built.success(), "cargo build --package turnwise-capi failed");
        Ok(target.join(if self.profile == "dev" { "debug" } else { "release" }))
    }
}

/// Puts below `root` what is later found below `prefix`; the libraries in its folder `lib`.
fn lay(built: &Path, root: &Path, prefix: &Path, lib: &str) -> Result<()> {
    libraries(built, &root.join(lib))?;
    for header in ["turnwise.h", "turnwise.hpp", "turnwise_tsan.h"] {
        copy(Path::new(CRATE).join("include").join(header), root.join("include").join(header))?;
    }
    let packages = [
        ("turnwise.pc.in", "pkgconfig/turnwise.pc"),
        ("turnwise-config.cmake.in", "cmake/turnwise/turnwise-config.cmake"),
        ("turnwise-config-version.cmake.in", "cmake/turnwise/turnwise-config-version.cmake"),
    ];
    for (template, to) in packages {
        write(root.join(lib).join(to), package(&Path::new(CRATE).join("packaging").join(template), prefix, lib)?)?;
    }
    Ok(())
}

/// Installs the libraries under the name that programs link, and the shared one with the links that the linkers follow.
fn libraries(built: &Path, to: &Path) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    copy(built.join("libturnwise_c.a"), to.join("libturnwise.a"))?;
    let shared = format!("libturnwise.so.{version}");
    copy(built.join("libturnwise_c.so"), to.join(&shared))?;
    for link in [format!("libturnwise.so.{major}"), "libturnwise.so".to_owned()] {
        let path = to.join(link);
        let _ = fs::remove_file(&path); // there may be none
        symlink(&shared, &path).with_context(|| format!("cannot link {}", path.display()))?;
    }
    Ok(())
}

/// Returns the text of a package file, of its template.
fn package(template: &Path, prefix: &Path, lib: &str) -> Result<String> {
    // From LIB/cmake/turnwise to the prefix.
    let up = "/..".repeat(2 + Path::new(lib).components().count());
    Ok(read(template)?
        .replace("@PREFIX@", &prefix.display().to_string())
        .replace("@LIB@", lib)
        .replace("@UP@", &up)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@PRIVATE_LIBRARIES@", PRIVATE_LIBRARIES))
}
