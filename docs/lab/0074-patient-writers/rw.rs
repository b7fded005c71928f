//! Threads on one lock, in several versions: `rw THREADS READ_PERCENT INSIDE_NS OUTSIDE_NS ROUNDS [LOCK...]`.
//!
//! `old` and `new` are copies of `crates/turnwise` with versions of their own, as path dependencies under those names;
//! `parking_lot` is 0.12. LOCK: places in `names`; speeds are against the first.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

trait L: Sync + Default {
    fn write(&self, f: impl FnOnce(&mut u64));
    fn read(&self, f: impl FnOnce(&u64));
}
/// A lock, and how it is acquired for writes and for reads.
macro_rules! locks {
    ($($name:ident: $lock:ty, $write:ident, $read:ident $(, $unwrap:ident)?;)*) => {$(
        #[derive(Default)]
        struct $name($lock);

        impl L for $name {
            fn write(&self, f: impl FnOnce(&mut u64)) {
                f(&mut self.0.$write()$(.$unwrap())?)
            }

            fn read(&self, f: impl FnOnce(&u64)) {
                f(&self.0.$read()$(.$unwrap())?)
            }
        }
    )*};
}

locks! {
    Old: old::RwSem<u64>, write, read;
    New: new::RwSem<u64>, write, read;
    Pl: parking_lot::RwLock<u64>, write, read;
    Std: std::sync::RwLock<u64>, write, read, unwrap;
    OldM: old::Mutex<u64>, lock, lock;
    NewM: new::Mutex<u64>, lock, lock;
    PlM: parking_lot::Mutex<u64>, lock, lock;
    StdM: std::sync::Mutex<u64>, lock, lock, unwrap;
}

fn work(ns: u64, per: f64) {
    let n = (ns as f64 * per) as u64;
    let mut x = 1u64;
    for i in 0..n {
        x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(i));
    }
    std::hint::black_box(x);
}

fn cell<T: L>(threads: usize, percent: u64, inside: u64, outside: u64, per: f64) -> (f64, f64) {
    let lock = T::default();
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    let counts: Vec<u64> = std::thread::scope(|s| {
        let hs: Vec<_> = (0..threads)
            .map(|t| {
                let (lock, stop) = (&lock, &stop);
                s.spawn(move || {
                    let mut seed = t as u64 * 77 + 1;
                    let mut n = 0u64;
                    while !stop.load(Relaxed) {
                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        if percent > 0 && seed % 100 < percent {
                            lock.read(|v| {
                                std::hint::black_box(*v);
                                if inside > 0 {
                                    work(inside, per)
                                }
                            })
                        } else {
                            lock.write(|v| {
                                *v += 1;
                                if inside > 0 {
                                    work(inside, per)
                                }
                            })
                        }
                        if outside > 0 {
                            work(outside, per)
                        }
                        n += 1;
                    }
                    n
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Relaxed);
        hs.into_iter().map(|h| h.join().unwrap()).collect()
    });
    let took = begin.elapsed().as_nanos() as f64;
    let all: u64 = counts.iter().sum();
    let (min, max) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    (took / all as f64, *min as f64 / *max.max(&1) as f64)
}

fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (threads, percent, inside, outside, rounds) = (a[0] as usize, a[1], a[2], a[3], a[4]);
    let begin = Instant::now();
    work(1_000_000, 1.0);
    let per = 1e6 / begin.elapsed().as_nanos() as f64;
    let names = ["old", "new", "parking_lot", "std", "oldM", "newM", "plM", "stdM"];
    let cells: [fn(usize, u64, u64, u64, f64) -> (f64, f64); 8] =
        [cell::<Old>, cell::<New>, cell::<Pl>, cell::<Std>, cell::<OldM>, cell::<NewM>, cell::<PlM>, cell::<StdM>];
    let pick: Vec<usize> = if a.len() > 5 { a[5..].iter().map(|&n| n as usize).collect() } else { (0..8).collect() };
    let mut got: Vec<Vec<(f64, f64)>> = vec![Vec::new(); 8];
    for _ in 0..rounds {
        for &n in &pick {
            let (ns, fair) = cells[n](threads, percent, inside, outside, per);
            got[n].push((ns, fair));
        }
    }
    for &n in &pick {
        let mut ns: Vec<f64> = got[n].iter().map(|g| g.0).collect();
        ns.sort_by(f64::total_cmp);
        let mut f: Vec<f64> = got[n].iter().map(|g| g.1).collect();
        f.sort_by(f64::total_cmp);
        let mut ratio: Vec<f64> = got[n].iter().zip(&got[pick[0]]).map(|(g, o)| o.0 / g.0).collect();
        ratio.sort_by(f64::total_cmp);
        let q = |v: &[f64], p: f64| v[((v.len() - 1) as f64 * p) as usize];
        println!(
            "{:12} {:8.1} ns ({:.1} .. {:.1})  speed/{} {:.3} ({:.3} .. {:.3}) fair {:.2}",
            names[n],
            q(&ns, 0.5),
            q(&ns, 0.25),
            q(&ns, 0.75),
            names[pick[0]],
            q(&ratio, 0.5),
            q(&ratio, 0.25),
            q(&ratio, 0.75),
            q(&f, 0.5)
        );
    }
}
