//! libFuzzer's driver, in the process of the test that has the target.

use crate::{KEEP, Target, scratch};
use libfuzzer_sys::fuzz_target;
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::{env, fs, panic, process};

thread_local! {
    /// libFuzzer calls back on the thread that started it. Without a lifetime: that call does not return before.
    static RUN: Cell<Option<*const dyn Fn(&[u8])>> = const { Cell::new(None) };
}

// Its library wants one to be there; it is what it calls itself.
fuzz_target!(|input: &[u8]| one(input));

// SAFETY: declared as `FuzzerInterface.h` of libFuzzer has it.
unsafe extern "C" {
    fn LLVMFuzzerRunDriver(
        count: *mut c_int,
        words: *mut *mut *mut c_char,
        one: extern "C" fn(*const u8, usize) -> c_int,
    ) -> c_int;
}

extern "C" fn called(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: libFuzzer passes as many bytes as it says; of none, the pointer may be anything.
    one(if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(bytes, length) } });
    0
}

fn one(input: &[u8]) {
    let Some(run) = RUN.get() else { return };
    // SAFETY: `run` below has borrowed it, and waits for libFuzzer.
    unsafe { (*run)(input) }
}

/// Runs libFuzzer, and ends the process.
pub(crate) fn run(target: &Target<'_>, seconds: &str) -> ! {
    let (work, corpus) = (scratch(target.name), target.corpus());
    fs::create_dir_all(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    for (number, seed) in target.seeds.iter().enumerate() {
        let _ = fs::write(work.join(format!("seed-{number}")), seed);
    }
    let (work, corpus) = (work.display().to_string(), corpus.display().to_string());
    let crashes = format!("-artifact_prefix={work}-");
    let time = format!("-max_total_time={seconds}");
    let common = ["fuzz", "-timeout=10", "-rss_limit_mb=3000", "-print_final_stats=1", &crashes];
    let words: Vec<&str> = if env::var_os(KEEP).is_some() {
        [&common[..], &["-merge=1", &corpus, &work]].concat()
    } else {
        [&common[..], &["-max_len=65536", "-use_value_profile=1", &time, &work, &corpus]].concat()
    };
    // What panics is a crash to libFuzzer only if it ends the process.
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        shown(info);
        process::abort();
    }));
    // SAFETY: only the lifetime changes; the borrow lasts until the process ends, which is here.
    RUN.set(Some(unsafe { std::mem::transmute::<&dyn Fn(&[u8]), &'static dyn Fn(&[u8])>(target.run) }));
    let words: Vec<CString> = words.into_iter().map(|word| CString::new(word).expect("no zero in it")).collect();
    let mut words: Vec<*mut c_char> = words.into_iter().map(CString::into_raw).collect();
    let mut count = words.len() as c_int;
    words.push(std::ptr::null_mut());
    let mut first = words.as_mut_ptr();
    // SAFETY: as `main` gets them: that number of words and a null pointer; they are never freed.
    let status = unsafe { LLVMFuzzerRunDriver(&raw mut count, &raw mut first, called) };
    process::exit(status)
}
