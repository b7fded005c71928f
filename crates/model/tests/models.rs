//! Every model holds.

use turnwise_model::check::{Lock, Width};
use turnwise_model::models;

fn hold(lock: Lock) {
    let width = Width::from_environment();
    let mut failed = Vec::new();
    for model in models::of(lock) {
        let outcome = model.run(width, &[]);
        println!("{:>9} executions {:>6} ms  {}", outcome.executions, outcome.elapsed.as_millis(), model.name);
        if let Some(failure) = outcome.failure {
            println!("{failure}");
            failed.push(model.name);
        }
    }
    assert!(failed.is_empty(), "these models fail: {failed:#?}");
}

#[test]
fn osq() {
    hold(Lock::Osq);
}

#[test]
fn mutex() {
    hold(Lock::Mutex);
}

#[test]
fn condvar() {
    hold(Lock::Condvar);
}

#[test]
fn spin() {
    hold(Lock::Spin);
}

#[test]
fn rwsem() {
    hold(Lock::RwSem);
}

#[test]
fn semaphore() {
    hold(Lock::Semaphore);
}

#[test]
fn reentrant() {
    hold(Lock::Reentrant);
}
