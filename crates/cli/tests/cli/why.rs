//! `turnwise why`, on a thread that waits for a lock that it holds.

use crate::common::{output, scratch, shown, text};
use crate::top::{LONG, Running, compiled};
use std::time::{Duration, Instant};

/// One thread waits for a mutex that it holds; another releases it after a while, or waits for the first to end.
const OWN: &str = "
#include <poll.h>
#include <pthread.h>
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static void *takes_its_turn(void *unused) { pthread_mutex_lock(&turn); pthread_mutex_lock(&turn); return unused; }
int main(int words, char **arguments) {
    (void)arguments;
    pthread_t thread;
    pthread_create(&thread, 0, takes_its_turn, 0);
    if (words > 1) {
        poll(0, 0, 600000);
        pthread_mutex_unlock(&turn);
    }
    return pthread_join(thread, 0);
}
";

#[test]
fn a_mutex_that_another_thread_is_to_release_is_no_deadlock() {
    let directory = scratch();
    let program = compiled(directory.path(), "own", OWN);
    let why = |stuck: &Running, status: i32, part: &str| {
        let begun = Instant::now();
        loop {
            let answer = output(&mut stuck.turnwise(&["why", &stuck.pid()]));
            if answer.status.code() == Some(status) && text(&answer.stdout).contains(part) {
                return;
            }
            assert!(begun.elapsed() < LONG, "{answer:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    why(&Running::start(&[shown(&program)]), 3, "DEADLOCK: a thread waits for a lock that it has");
    why(&Running::start(&[shown(&program), "later"]), 0, "a deadlock, unless another thread releases it");
}
