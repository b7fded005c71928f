//! Commonly used programs.

use super::*;

#[test]
fn git() {
    let Some(mounted) = mount(&[]) else { return };
    if !has("git") {
        return;
    }
    mounted.shell(
        "git init -q -b main one; cd one; mkdir -p src/deep
         for i in $(seq 60); do echo line $i >src/deep/f$i; done; git add .; git commit -qm first
         git mv src/deep/f1 src/g1; sed -i s/line/word/ src/deep/f2; git commit -qam second; git tag v1
         git gc -q; git fsck --strict; git clone -q . ../two; cd ../two; test -z \"$(git status --porcelain)\"
         echo more >>src/deep/f9; rm src/deep/f10",
    );
    assert_eq!(
        mounted.shell("cd two; git diff --stat --color=never | tail -1"),
        " 2 files changed, 1 insertion(+), 1 deletion(-)\n"
    );
    assert_eq!(
        mounted.shell("cd two; git status --porcelain; git log --format=%s"),
        " D src/deep/f10\n M src/deep/f9\nsecond\nfirst\n"
    );
    mounted.shell("cd two; git stash -q; git checkout -q -b side HEAD~1; git merge -q main; git diff --quiet v1");
    mounted.shell("cd two; git worktree add -q ../three; cd ../three; git rev-parse -q --verify HEAD");
}

#[test]
fn tar_and_copies_keep_everything() {
    let Some(mounted) = mount(&[]) else { return };
    mounted.shell(
        "mkdir -p from/a/b; head -c 300000 /dev/urandom >from/random; ln from/random from/a/hard
         ln -s ../random from/a/soft
         mkfifo from/fifo; chmod 751 from/a; truncate -s 1M from/sparse; touch -d '2020-01-02 03:04:05' from/a/b
         tar cf all.tar --sparse from; mkdir to; tar xf all.tar -C to; cp -a from copy
         diff -r --no-dereference from/a to/from/a",
    );
    let list = "find . ! -name . -printf '%p %y %m %n %s %T@ %l\\n' | sort | sed 's/\\.\\([0-9]*\\)0* / /'";
    assert_eq!(mounted.shell(&format!("cd copy; {list}")), mounted.shell(&format!("cd from; {list}")));
    mounted.shell("cmp from/random to/from/random; cmp from/sparse copy/sparse; test $(stat -c %b copy/sparse) = 0");
    mounted.shell("rm -r from to copy all.tar; test -z \"$(ls -A)\"");
}

#[test]
fn make_and_a_compiler() {
    let Some(mounted) = mount(&[]) else { return };
    if !has("make") || !has("gcc") {
        return;
    }
    std::fs::create_dir(mounted.path("hello")).unwrap();
    let file = |name: &str, text: &str| std::fs::write(mounted.path("hello").join(name), text).unwrap();
    file("say.h", "void say(const char *what);\n");
    file("say.c", "#include <stdio.h>\n#include \"say.h\"\nvoid say(const char *what) { puts(what); }\n");
    file("main.c", "#include \"say.h\"\nint main(void) { say(\"built on a mount\"); return 0; }\n");
    file(
        "Makefile",
        "all: hello\nhello: main.o libsay.a\n\t$(CC) -o $@ $^\nlibsay.a: say.o\n\t$(AR) rcs $@ $^\n\
         main.o say.o: say.h\n",
    );
    mounted.shell("cd hello; make -j2");
    assert_eq!(mounted.shell("cd hello; ./hello; make"), "built on a mount\nmake: Nothing to be done for 'all'.\n");
    mounted.shell("cd hello; sleep 0.02; touch say.h; make -q && exit 1; make; ./hello");
}

#[test]
fn a_program_that_runs_from_the_mount_while_it_is_written_to() {
    let Some(mounted) = mount(&[]) else { return };
    mounted.shell("cp /bin/sleep nap; ./nap 0.5 & wait=$!; sleep 0.1; cp /bin/true new; mv new nap; ./nap; wait $!");
}

#[test]
fn databases_and_locks() {
    let Some(mounted) = mount(&[]) else { return };
    if !has("python3") {
        return;
    }
    let script = "import sqlite3, fcntl, os
for mode in ('delete', 'wal'):
    db = sqlite3.connect('db-' + mode); db.execute('pragma journal_mode=' + mode)
    db.execute('create table t (n integer primary key, s text)')
    for n in range(300):
        db.execute('insert into t values (?, ?)', (n, 'x' * n)); n % 50 or db.commit()
    db.commit(); print(db.execute('select count(*), sum(length(s)) from t').fetchone())
    print(db.execute('pragma integrity_check').fetchone())
a, b = open('lock', 'w'), open('lock', 'w'); fcntl.flock(a, fcntl.LOCK_EX)
try: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError: print('locked')";
    std::fs::write(mounted.path("script.py"), script).unwrap();
    let shown = mounted.shell("python3 -c 'import sqlite3' || exit 0; python3 script.py");
    if shown.contains("No module named") {
        eprintln!("SKIPPED: python3 has no sqlite3");
        return;
    }
    assert_eq!(shown, "(300, 44850)\n('ok',)\n(300, 44850)\n('ok',)\nlocked\n");
}
