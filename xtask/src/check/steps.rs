//! The steps, one record each, in the order in which CI runs them.

use super::need::Need;

/// One step of `cargo xtask check`.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) needs: &'static [Need],
    pub(crate) commands: &'static [Cmd],
}

/// A command line. `cargo` unless the first word of `line` is another program.
pub(crate) struct Cmd {
    pub(crate) env: &'static [(&'static str, &'static str)],
    pub(crate) line: &'static str,
    /// Runs at the same time as the command before: both use one CPU.
    pub(crate) beside: bool,
    /// Without a terminal: minutes after which it is stopped.
    pub(crate) minutes: u64,
}

const fn cmd(line: &'static str) -> Cmd {
    Cmd { env: &[], line, beside: false, minutes: 20 }
}

/// Both sanitizers come only with the nightly toolchain.
pub(crate) const MIRI: &[Need] = &[Need::Nightly("miri"), Need::Nightly("rust-src")];
const TSAN: &[Need] = &[Need::Nightly("rust-src"), Need::Program("cc", "gcc")];
const MIRI_SEEDS: (&str, &str) =
    ("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-preemption-rate=0.1 -Zmiri-many-seeds=0..16");
const MIRI_ENV: &[(&str, &str)] = &[("MIRIFLAGS", "-Zmiri-disable-isolation")];
/// The epochs of `crossbeam-epoch` keep garbage when the program ends, identify their own by numbers, and break the
/// rules of stacked borrows, not those of tree borrows.
const MIRI_VFS_ENV: &[(&str, &str)] =
    &[("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks")];
const TSAN_ENV: &[(&str, &str)] =
    &[("RUSTFLAGS", "-Zsanitizer=thread --cfg turnwise_tsan"), ("TSAN_OPTIONS", "halt_on_error=1")];

/// The half of the platform for other systems, on this one.
const PORTABLE: (&str, &str) = ("RUSTFLAGS", "--cfg turnwise_portable");
/// 32 bits: linked without a compiler for them.
const LLD_I686: (&str, &str) = ("CARGO_TARGET_I686_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
/// As in `cargo xtask foreign`, whose build this continues.
const FOREIGN_DEBUG: (&str, &str) = ("CARGO_PROFILE_DEV_DEBUG", "0");
/// Nothing of Wine's own on the terminal, and no offers to install more of it.
const WINE_ENV: &[(&str, &str)] = &[
    ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine"),
    ("WINEDEBUG", "-all"),
    ("WINEDLLOVERRIDES", "mscoree,mshtml="),
];

pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        what: "formatted as rustfmt.toml says",
        needs: &[],
        commands: &[cmd("cargo fmt --all --check")],
    },
    Step {
        name: "tidy",
        what: "style as a test (`cargo xtask tidy --list`)",
        needs: &[],
        commands: &[cmd("cargo xtask tidy")],
    },
    Step {
        name: "header",
        what: "turnwise.h is what the C API's source makes",
        needs: &[],
        commands: &[cmd("cargo xtask header --check")],
    },
    Step {
        name: "clippy",
        what: "lints, with warnings denied, for each set of features",
        needs: &[],
        commands: &[
            cmd("cargo clippy --workspace --all-targets -- -D warnings"),
            cmd("cargo clippy -p turnwise --no-default-features -- -D warnings"),
            cmd("cargo clippy -p turnwise --all-targets --features lock_api -- -D warnings"),
            cmd("cargo clippy -p turnwise --all-targets --features stats,order-check -- -D warnings"),
            cmd("cargo clippy -p turnwise --all-targets --features live -- -D warnings"),
            cmd("cargo clippy -p turnwise-capi --no-default-features -- -D warnings"),
        ],
    },
    Step {
        name: "test",
        what: "unit, doc, C and model tests, mutants, short torture: the README's test command, for all packages",
        needs: &[Need::Program("cc", "gcc")],
        commands: &[Cmd { minutes: 30, ..cmd("cargo xtask test --workspace") }],
    },
    Step {
        name: "faults",
        what: "programs on our locks while something goes wrong: nothing lost, nothing hung",
        needs: &[Need::Program("gcc", "gcc")],
        commands: &[cmd("cargo xtask faults --seconds 25")],
    },
    Step {
        name: "compatible",
        what: "programs of this machine with threads answer on our locks, and recorded, as they do alone",
        needs: &[],
        commands: &[cmd("cargo xtask compatibility --quick --seconds 40")],
    },
    Step {
        name: "sanitize",
        what: "C and C++ programs on our libraries under address and undefined-behaviour sanitizers",
        needs: &[Need::Program("gcc", "gcc"), Need::Program("g++", "g++")],
        commands: &[cmd("cargo xtask sanitize")],
    },
    Step {
        name: "supply",
        what: "licences and versions of dependencies, the oldest Rust, features one by one",
        needs: &[Need::Target("i686-unknown-linux-gnu")],
        commands: &[cmd("cargo xtask supply --quick")],
    },
    Step {
        name: "dist",
        what: "what the C library exports; Debian's packages of the debug build, unpacked and used",
        needs: &[Need::Program("cc", "gcc"), Need::Program("dpkg-deb", "dpkg")],
        commands: &[cmd("cargo xtask dist --quick")],
    },
    Step {
        name: "features",
        what: "the locks without optimistic spinning, with lock_api, and with counters and the order checker",
        needs: &[],
        commands: &[
            cmd("cargo test -p turnwise --no-default-features --features native"),
            cmd("cargo test -p turnwise --features lock_api"),
            cmd("cargo test -p turnwise --features stats,order-check"),
            cmd("cargo test -p turnwise --features live"),
        ],
    },
    Step {
        name: "asm",
        what: "the fast paths compile to as many locked instructions as those written by hand",
        needs: &[Need::Architecture("x86_64"), Need::Program("objdump", "binutils")],
        commands: &[cmd("cargo xtask asm")],
    },
    Step {
        name: "no-std",
        what: "the library for a bare machine",
        needs: &[Need::Target("x86_64-unknown-none")],
        commands: &[
            cmd("cargo build -p turnwise --no-default-features --target x86_64-unknown-none"),
            cmd("cargo build -p turnwise --no-default-features --features spin --target x86_64-unknown-none"),
            cmd("cargo build -p turnwise-lineage --no-default-features --target x86_64-unknown-none"),
        ],
    },
    Step {
        name: "kernel",
        what: "the library in a kernel of its own: booted on 4 virtual CPUs, x86-64 and arm64",
        needs: &[
            Need::Target("x86_64-unknown-none"),
            Need::Target("aarch64-unknown-none"),
            Need::Program("qemu-system-x86_64", "qemu-system-x86"),
            Need::Program("qemu-system-aarch64", "qemu-system-arm"),
        ],
        commands: &[
            cmd("cargo fmt --check --manifest-path proof/kernel/Cargo.toml"),
            cmd("cargo clippy -q --locked --manifest-path proof/kernel/Cargo.toml --target-dir target/kernel \
                 --target x86_64-unknown-none --target aarch64-unknown-none -- -D warnings"),
            cmd("cargo xtask kernel"),
        ],
    },
    Step {
        name: "foreign",
        what: "tests of the locks on arm64 and s390x, and of programs on them on arm64, under qemu's user mode",
        needs: &[
            Need::Target("aarch64-unknown-linux-gnu"),
            Need::Target("s390x-unknown-linux-gnu"),
            Need::Program("qemu-aarch64-static", "qemu-user-static"),
            Need::Program("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"),
            Need::Program("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"),
        ],
        commands: &[
            cmd("cargo xtask foreign --quick"),
            // Its tests take too long there, but it compiles.
            Cmd {
                env: &[FOREIGN_DEBUG],
                ..cmd("cargo check -p turnwise-recorder --target-dir target/foreign --target aarch64-unknown-linux-gnu")
            },
        ],
    },
    Step {
        name: "portable",
        what: "the platform of other systems than Linux: the library's tests on its queues of sleeping threads",
        needs: &[],
        commands: &[Cmd {
            env: &[PORTABLE],
            ..cmd("cargo test -p turnwise --lib --tests --features lock_api,stats,order-check \
                 --target-dir target/portable")
        }],
    },
    Step {
        name: "systems",
        what: "the library compiles for macOS, FreeBSD, Android, illumos and 32 bits",
        needs: &[
            Need::Target("aarch64-apple-darwin"),
            Need::Target("x86_64-apple-darwin"),
            Need::Target("x86_64-unknown-freebsd"),
            Need::Target("aarch64-linux-android"),
            Need::Target("x86_64-unknown-illumos"),
            Need::Target("i686-unknown-linux-gnu"),
        ],
        commands: &[
            cmd("cargo check -p turnwise --target x86_64-apple-darwin --target aarch64-linux-android \
                 --target x86_64-unknown-illumos"),
            cmd("cargo clippy -p turnwise --all-targets --features lock_api,stats,live --target aarch64-apple-darwin \
                 --target x86_64-unknown-freebsd --target i686-unknown-linux-gnu -- -D warnings"),
        ],
    },
    Step {
        name: "musl",
        what: "the library's tests with musl, on 64 and 32 bits",
        needs: &[
            Need::Architecture("x86_64"),
            Need::Program("cc", "gcc"),
            Need::Target("x86_64-unknown-linux-musl"),
            Need::Target("i686-unknown-linux-musl"),
        ],
        commands: &[Cmd {
            env: &[LLD_I686],
            ..cmd("cargo test -p turnwise --lib --tests --features lock_api,stats,order-check \
                 --target x86_64-unknown-linux-musl --target i686-unknown-linux-musl")
        }],
    },
    Step {
        name: "windows",
        what: "the library's tests for Windows, under Wine",
        needs: &[
            Need::Architecture("x86_64"),
            Need::Program("wine", "wine"),
            Need::Program("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"),
            Need::Target("x86_64-pc-windows-gnu"),
        ],
        commands: &[
            cmd("cargo clippy -p turnwise --all-targets --features lock_api,stats,live \
                 --target x86_64-pc-windows-gnu -- -D warnings"),
            cmd("cargo test --no-run -p turnwise --lib --tests --features lock_api,stats,order-check \
                 --target x86_64-pc-windows-gnu"),
            // Next to the tests, where Windows and Wine look first.
            cmd("x86_64-w64-mingw32-gcc -shared -o target/x86_64-pc-windows-gnu/debug/deps/bcryptprimitives.dll \
                 xtask/src/check/bcryptprimitives.c -ladvapi32"),
            Cmd {
                env: WINE_ENV,
                ..cmd("cargo test -p turnwise --lib --tests --features lock_api,stats,order-check \
                     --target x86_64-pc-windows-gnu")
            },
        ],
    },
    Step {
        name: "docs",
        what: "documentation, with broken links denied; the libraries' as docs.rs makes it",
        needs: &[Need::Nightly("rustc")],
        commands: &[
            Cmd { env: &[("RUSTDOCFLAGS", "-D warnings")], ..cmd("cargo doc --workspace --no-deps") },
            cmd("cargo xtask supply --quick docs.rs"),
        ],
    },
    Step {
        name: "book",
        what: "the book of docs, and every link of its built pages",
        needs: &[Need::Tool("mdbook", "0.5.4")],
        commands: &[cmd("cargo xtask book check")],
    },
    Step {
        name: "guide",
        what: "the guide, tried step by step",
        needs: &[Need::Program("cc", "gcc")],
        commands: &[cmd("cargo xtask guide")],
    },
    Step {
        name: "miri",
        what: "undefined behaviour, races and leaks in the library's tests, interpreted",
        needs: MIRI,
        commands: &[
            Cmd {
                env: MIRI_ENV,
                ..cmd("cargo +nightly miri test -p turnwise -p turnwise-lineage --lib --tests --target-dir target/miri")
            },
            // Without threads: they take minutes. The chains' statistics need more names than Miri can handle.
            Cmd {
                env: MIRI_VFS_ENV,
                beside: true,
                ..cmd("cargo +nightly miri test -p turnwise-vfs --lib --target-dir target/miri -- \
                     host:: dcache:: inode:: ops:: --skip like_a_flat_file --skip at_the_same_time \
                     --skip threads_that_append --skip numbered_names")
            },
            Cmd {
                env: &[MIRI_ENV[0], PORTABLE],
                beside: true,
                ..cmd("cargo +nightly miri test -p turnwise --test park --test mutex --target-dir target/miri-portable")
            },
            // One schedule in several loses a wake-up if the check of the word comes before the bucket's lock.
            Cmd {
                env: &[MIRI_SEEDS, PORTABLE],
                beside: true,
                ..cmd("cargo +nightly miri test -p turnwise --test park --target-dir target/miri-portable no_wake_up")
            },
        ],
    },
    Step {
        name: "tsan",
        what: "data races in the library's tests and in a short torture, on threads",
        needs: TSAN,
        // Not every scenario: ThreadSanitizer ends a process that forks, and fair spin locks crawl in a crowd.
        commands: &[
            Cmd {
                env: TSAN_ENV,
                ..cmd("cargo +nightly test -p turnwise --lib --tests \
                     -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir target/tsan")
            },
            Cmd {
                env: TSAN_ENV,
                ..cmd("cargo +nightly run -p turnwise-torture \
                     -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir target/tsan -- --seconds 25 \
                     --lock mutex --lock mutex-tuned --lock ttas --lock ticket --lock queued --lock mcs \
                     --lock rwsem --lock semaphore --lock linux-mutex-patch1-and-2 --lock rwsem-spinlock-stealing \
                     --scenario exclusion --scenario timed --scenario nested --scenario shared")
            },
        ],
    },
];

/// `cargo xtask miri`: the tests of the locks under many schedules.
pub(crate) const MIRI_MANY: Cmd = cmd("cargo +nightly miri test -p turnwise --lib --tests --target-dir target/miri --");
/// `cargo xtask torture`.
pub(crate) const TORTURE: Cmd = cmd("cargo run --release -p turnwise-torture --");
/// `cargo xtask models`: with the executions, states and rare lines of each.
pub(crate) const MODELS: Cmd =
    cmd("cargo test --release -p turnwise-model --no-fail-fast --test models --test explicit -- --show-output");
