//! Every model holds.

#[macro_use]
mod locks;

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

each_lock!(hold);
