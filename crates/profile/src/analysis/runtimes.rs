//! Programs with their own runtime, whose locks are not pthread's, or have another meaning.

use std::path::Path;

/// Returns remarks about a program that has these files mapped.
pub(super) fn remarks<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let (mut java, mut python) = (false, false);
    for name in files.filter_map(|file| file.file_name()?.to_str()) {
        java |= name.starts_with("libjvm.");
        python |= name.starts_with("libpython") || name.starts_with("python");
    }
    let mut remarks = Vec::new();
    if java {
        remarks.push(
            "a Java virtual machine ran: its monitors (`synchronized`) and the locks of java.util.concurrent are not \
             pthread's, and are not seen here; those that are seen are the virtual machine's own. async-profiler with \
             `-e lock` sees Java's"
                .to_owned(),
        );
    }
    if python {
        remarks.push(
            "Python's interpreter ran: threads that wait for its global lock (the GIL) do so in timed waits on a \
             condition variable (`take_gil`), which other locks do not shorten"
                .to_owned(),
        );
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_and_python_are_distinguished_from_others() {
        let reported = |files: &[&'static str]| remarks(files.iter().map(Path::new)).concat();
        assert!(reported(&["/usr/bin/java", "/usr/lib/jvm/lib/server/libjvm.so"]).contains("synchronized"));
        for python in ["/usr/bin/python3.11", "/usr/lib/libpython3.11.so.1.0"] {
            assert!(reported(&["/usr/lib/libc.so.6", python]).contains("GIL"));
        }
        assert_eq!(reported(&["/usr/bin/server", "/usr/lib/libc.so.6"]), "");
    }
}
