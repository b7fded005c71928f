//! Slices of one track must nest. What overlaps without nesting goes to a track of its own.

/// The tracks that were needed, by when the last slice on each ends.
#[derive(Default)]
pub(super) struct Lanes {
    ends: Vec<u64>,
}

impl Lanes {
    /// The first lane that is free from `begin` on; slices come in order of their begins.
    pub(super) fn place(&mut self, begin: u64, end: u64) -> usize {
        let free = self.ends.iter().position(|&taken| taken <= begin);
        let lane = free.unwrap_or(self.ends.len());
        match self.ends.get_mut(lane) {
            Some(taken) => *taken = end,
            None => self.ends.push(end),
        }
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_apart() {
        let mut lanes = Lanes::default();
        let placed = [(0, 10), (5, 15), (10, 12), (11, 20), (12, 13)].map(|(begin, end)| lanes.place(begin, end));
        assert_eq!(placed, [0, 1, 0, 2, 0]);
    }
}
