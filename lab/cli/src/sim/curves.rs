//! A report's cells as curves: which number runs along the x axis, and which cells lie on one line.

use serde::Serialize;
use turnwise_simbench::report::{Cell, Figures, SimReport};

/// What changes from point to point of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Axis {
    Cpus,
    Threads,
}

impl Axis {
    pub(crate) fn of(self, cell: &Cell) -> u32 {
        match self {
            Axis::Cpus => cell.cpus,
            Axis::Threads => cell.threads,
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Axis::Cpus => "CPUs",
            Axis::Threads => "threads",
        }
    }
}

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Series {
    /// The lock, and what else distinguishes this line from another.
    pub(crate) name: String,
    /// Places in [`SimReport::cells`], with x rising.
    pub(crate) cells: Vec<usize>,
}

/// All lines of a report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Curves {
    pub(crate) axis: Axis,
    pub(crate) series: Vec<Series>,
}

impl Curves {
    pub(crate) fn of(report: &SimReport) -> Curves {
        let cells = &report.cells;
        let one_cpu_count = cells.windows(2).all(|pair| pair[0].cpus == pair[1].cpus);
        let one_thread_count = cells.windows(2).all(|pair| pair[0].threads == pair[1].threads);
        let a_thread_for_each = cells.iter().all(|cell| cell.threads == cell.cpus);
        let axis = if one_cpu_count && !one_thread_count { Axis::Threads } else { Axis::Cpus };
        let plain = one_cpu_count || one_thread_count || a_thread_for_each;
        let mut series: Vec<Series> = Vec::new();
        for (place, cell) in cells.iter().enumerate() {
            let name = if plain { cell.lock.clone() } else { format!("{}, {} threads", cell.lock, cell.threads) };
            match series.iter_mut().find(|line| line.name == name) {
                Some(line) => line.cells.push(place),
                None => series.push(Series { name, cells: vec![place] }),
            }
        }
        for line in &mut series {
            line.cells.sort_by_key(|&place| axis.of(&cells[place]));
        }
        Curves { axis, series }
    }

    /// Returns all x values, rising.
    pub(crate) fn xs(&self, report: &SimReport) -> Vec<u32> {
        let mut xs: Vec<u32> = report.cells.iter().map(|cell| self.axis.of(cell)).collect();
        xs.sort_unstable();
        xs.dedup();
        xs
    }
}

impl Series {
    /// Returns the cell at this x.
    pub(crate) fn at<'a>(&self, report: &'a SimReport, axis: Axis, x: u32) -> Option<&'a Cell> {
        self.cells.iter().map(|&place| &report.cells[place]).find(|cell| axis.of(cell) == x)
    }

    /// Returns the points whose run came to an end, with x rising.
    pub(crate) fn points<'a>(&self, report: &'a SimReport, axis: Axis) -> Vec<(u32, &'a Figures)> {
        let cells = self.cells.iter().map(|&place| &report.cells[place]);
        cells.filter_map(|cell| Some((axis.of(cell), cell.result.as_ref().ok()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn a_line_for_each_lock_with_x_rising() {
        let mut report = fixture::report(&["a", "b"], &[(4, 4), (1, 1)]);
        let curves = Curves::of(&report);
        assert_eq!(curves.axis, Axis::Cpus);
        assert_eq!(curves.series[1], Series { name: "b".to_owned(), cells: vec![3, 2] });
        assert_eq!(curves.xs(&report), [1, 4]);
        report.cells[3].result = Err(fixture::stuck());
        assert_eq!(curves.series[1].points(&report, Axis::Cpus).len(), 1);
    }

    #[test]
    fn threads_are_the_axis_where_cpus_stay_and_a_name_where_both_change() {
        let threads = Curves::of(&fixture::report(&["a"], &[(4, 1), (4, 8)]));
        assert_eq!((threads.axis, threads.series.len()), (Axis::Threads, 1));
        let both = Curves::of(&fixture::report(&["a"], &[(2, 1), (2, 8), (4, 1), (4, 8)]));
        let names: Vec<&str> = both.series.iter().map(|line| line.name.as_str()).collect();
        assert_eq!((both.axis, names), (Axis::Cpus, vec!["a, 1 threads", "a, 8 threads"]));
        let single = Curves::of(&fixture::report(&["a"], &[(4, 4)]));
        assert_eq!((single.axis, single.series.len()), (Axis::Cpus, 1));
    }
}
