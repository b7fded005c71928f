//! A handler replaces the panic. This runs in a separate process, since there is one handler for all threads.

use std::sync::Mutex;
use turnwise::order::{self, Fault, Report};

static REPORTED: Mutex<Vec<Report>> = Mutex::new(Vec::new());

#[test]
fn a_handler_is_called_once_per_pair_and_the_thread_continues() {
    order::set_handler(|report| REPORTED.lock().unwrap().push(report.clone()));
    let (a, b) = (turnwise::Mutex::new(0), turnwise::Mutex::new(0));
    {
        let _a = a.lock();
        *b.lock() += 1;
    }
    for _ in 0..2 {
        let _b = b.lock();
        *a.lock() += 1;
    }
    assert_eq!((*a.lock(), *b.lock()), (2, 1), "reported acquisitions are made");
    let shown = REPORTED.lock().unwrap();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!((shown[0].fault, shown[0].cycle.len()), (Fault::Inversion, 2));
    let [now, before] = shown[0].cycle[..] else { unreachable!("two steps") };
    assert_eq!((now.held, now.next), (before.next, before.held));
    assert!(now.held_at.file().ends_with("order_handler.rs") && now.held_at.line() > before.next_at.line());
}
