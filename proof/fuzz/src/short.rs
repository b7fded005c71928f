//! The bounded driver: the same inputs each time, so that a failure comes again.

use crate::mutate::mutated;
use crate::{Target, scratch};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

/// One input takes no longer, also in a debug build beside others.
const PATIENCE: Duration = Duration::from_secs(10);
/// Then the process is ended: an input that does not come back.
const HANG: Duration = Duration::from_secs(60);
/// No mutations begin any more; those of slow machines are fewer.
const BUDGET: Duration = Duration::from_secs(4);
/// Kilobytes by which the process may grow.
const MOST_KIB: u64 = 1 << 20;

/// Tries all inputs and this many mutations.
pub(crate) fn run(target: &Target<'_>, mutations: u32) {
    let inputs = target.inputs();
    assert!(!inputs.is_empty(), "the target {} has neither corpus nor seeds", target.name);
    let folder = scratch(target.name);
    // In memory, if there is such a folder: it is written for each input.
    let memory = Path::new("/dev/shm");
    let name = format!("turnwise-fuzz-{}-{}", target.name, process::id());
    let running = if memory.is_dir() { memory.join(name) } else { folder.join("running") };
    let (alive, watched) = mpsc::channel();
    let shown = running.clone();
    thread::spawn(move || watch(&watched, &shown));
    let start = Instant::now();
    for (name, input) in &inputs {
        one(target, (&running, &folder), name, input);
        let _ = alive.send(());
    }
    let mut random = fastrand::Rng::with_seed(1);
    for number in 0..mutations {
        if start.elapsed() > BUDGET {
            println!("{}: {number} of {mutations} mutations in {BUDGET:?}", target.name);
            break;
        }
        let [seed, other] = [(); 2].map(|()| &inputs[random.usize(..inputs.len())].1);
        let input = mutated(&mut random, seed, other);
        one(target, (&running, &folder), &format!("mutation {number}"), &input);
        let _ = alive.send(());
    }
    let _ = fs::remove_file(running);
}

/// Tries one input. It lies in a file meanwhile: also one that ends the process is found there.
fn one(target: &Target<'_>, (running, folder): (&Path, &Path), name: &str, input: &[u8]) {
    fs::write(running, input).unwrap_or_else(|error| panic!("{}: {error}", running.display()));
    let (before, start) = (resident_kib(), Instant::now());
    let ended = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let fault = match ended {
        Err(_) => Some("panicked (the message is above)".to_owned()),
        Ok(()) if start.elapsed() > PATIENCE => Some(format!("took {:?}", start.elapsed())),
        Ok(()) if resident_kib().saturating_sub(before) > MOST_KIB => Some("took more than 1 GiB of memory".to_owned()),
        Ok(()) => return,
    };
    let kept = folder.join(format!("crash-{}", name.rsplit('/').next().unwrap_or(name).replace(' ', "-")));
    let _ = fs::rename(running, &kept).or_else(|_| fs::copy(running, &kept).and(fs::remove_file(running)));
    panic!("{}: {name} {}: {}", target.name, fault.unwrap_or_default(), kept.display());
}

/// Ends the process if nothing is heard for long.
fn watch(alive: &mpsc::Receiver<()>, running: &Path) {
    loop {
        match alive.recv_timeout(HANG) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("{}: nothing for {HANG:?}: it hangs", running.display());
                process::abort();
            }
        }
    }
}

/// The most memory that the process has had.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::check;

    fn message(run: impl Fn(&[u8])) -> String {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check("self-test", 2000, vec![b"abc".to_vec()], run);
        }));
        *caught.expect_err("it was not noticed").downcast::<String>().expect("a text")
    }

    #[test]
    fn faults_are_noticed_and_their_input_is_kept() {
        let reported = message(|bytes| assert!(bytes.len() < 7 || bytes[6] != 0xff, "an odd byte"));
        assert!(reported.starts_with("self-test: mutation ") && reported.contains("panicked"), "{reported}");
        let kept = reported.rsplit(": ").next().expect("a path");
        assert_eq!(std::fs::read(kept).expect("it was kept")[6], 0xff);
        let reported = message(|bytes| {
            let large = vec![1_u8; if bytes == b"abc" { (1 << 30) + (64 << 20) } else { 0 }];
            std::hint::black_box(large);
        });
        assert!(reported.contains("seed 0 took more than 1 GiB"), "{reported}");
    }
}
