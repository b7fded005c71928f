//! Slices of one track must nest. Slices that overlap without nesting go to separate tracks.

/// The tracks that were needed, by the end of the last slice on each.
#[derive(Default)]
pub(super) struct Lanes {
    ends: Vec<u64>,
}

impl Lanes {
    /// Returns the first lane that is free from `begin`; slices come in order of their begins.
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
