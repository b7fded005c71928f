//! How a run ended, and how a child reports it to its parent.

use clap::ValueEnum;
use std::process::ExitStatus;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Verdict {
    /// Nothing was wrong.
    Passed,
    /// The machine lacks what the scenario needs.
    Skipped,
    /// The protected data were not as one owner at a time leaves them.
    TwoOwners,
    /// No order of the operations on a count explains their results.
    NoOrder,
    /// A timed wait ended before its time, without the lock.
    EarlyTimeout,
    /// A waiter was overtaken for longer than the lock allows.
    Starved,
    /// The process had more and more memory, or numbers for threads.
    Grew,
    /// Acquisitions cost more and more.
    Slowed,
    /// No thread made progress.
    Hang,
    /// A signal ended the process (memory that was gone was touched), or a panic.
    Crash,
}

impl Verdict {
    /// Returns the exit status: 0 passed, 1 a check failed, 3 a hang.
    pub fn status(self) -> i32 {
        match self {
            Verdict::Passed | Verdict::Skipped => 0,
            Verdict::Hang => 3,
            _ => 1,
        }
    }

    /// Ends the process, with this on the last line.
    pub fn exit(self) -> ! {
        println!("verdict: {self:?}");
        std::process::exit(self.status())
    }

    /// Returns the verdict on a child that ended so, after this output.
    pub(crate) fn of(status: ExitStatus, output: &str) -> Verdict {
        let said = output.lines().last().and_then(|line| line.strip_prefix("verdict: "));
        let verdict = said.and_then(|said| Verdict::value_variants().iter().find(|v| format!("{v:?}") == said));
        match verdict {
            Some(verdict) if status.code() == Some(verdict.status()) => *verdict,
            _ => Verdict::Crash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn ended(code: i32, output: &str) -> Verdict {
        Verdict::of(ExitStatus::from_raw(code << 8), output)
    }

    #[test]
    fn a_verdict_is_what_the_last_line_says_if_the_status_agrees() {
        for &verdict in Verdict::value_variants() {
            assert_eq!(ended(verdict.status(), &format!("more\nverdict: {verdict:?}\n")), verdict);
        }
        assert_eq!(ended(0, "verdict: Hang\n"), Verdict::Crash);
        assert_eq!(ended(0, ""), Verdict::Crash);
        assert_eq!(ended(1, "verdict: Fine\n"), Verdict::Crash);
        assert_eq!(Verdict::of(ExitStatus::from_raw(libc::SIGSEGV), "verdict: Passed\n"), Verdict::Crash);
    }
}
