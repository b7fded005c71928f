//! The simulator's speed on this host; `turnwise sim --self-bench` shows the same.

use std::sync::Arc;
use turnwise_sim::{selfbench, spec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Arc::new(spec::load("westmere-ex-80")?);
    let bench = selfbench::run(&machine);
    println!("bare switches: {:.1} million a second", bench.switches_per_s / 1e6);
    for row in &bench.rows {
        let (per_s, ratio) = (row.per_s() / 1e6, row.per_s() / bench.switches_per_s);
        println!("{:45} {:.3} s {per_s:6.1} million accesses a second, {ratio:.2}", row.what, row.seconds);
    }
    Ok(())
}
