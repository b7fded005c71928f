//! Every model holds, and together they reach every operation of the locks on their words.

#[macro_use]
mod locks;

use turnwise_model::check::{Lock, Width};
use turnwise_model::lab::UseSites;
use turnwise_model::report::Row;
use turnwise_model::sources::Sources;
use turnwise_model::{lines, models};

fn hold(lock: Lock) {
    let width = Width::from_environment();
    let (mut failed, mut places) = (Vec::new(), UseSites::new());
    let mut row = Row::new(lock, "loom", "executions");
    for model in models::of(lock) {
        let outcome = model.run(width, &[]);
        outcome.places.iter().for_each(|(place, done)| places.entry(*place).or_default().add(done));
        row.add(outcome.tried, outcome.elapsed);
        println!("{outcome}  {}", model.name);
        if let Some(failure) = outcome.failure {
            println!("{failure}");
            failed.push(model.name);
        }
    }
    assert!(failed.is_empty(), "these models fail: {failed:#?}");
    let sources = Sources::of(lock).expect("the lock's sources can be read");
    row.lines = lines::entered(lock, &sources, &places);
    row.tell().expect("the table's folder can be written");
    let never: Vec<_> = lines::of(lock).iter().map(|line| line.name).filter(|name| !row.lines.contains(name)).collect();
    let not_entered = lines::not_entered(lock, &sources, &places);
    assert!(not_entered.is_empty(), "no model comes to these: {not_entered:#?}");
    assert!(never.is_empty(), "no model enters these rare lines: {never:#?}");
}

each_lock!(hold);
