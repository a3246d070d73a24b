//! A generator of random numbers whose sequence depends only on the seed. The committed sample and the trained weights
//! follow from its bits, so it must not change when a dependency is updated.

use riposte_eval::chance::SplitMix64;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// The stream for one seed, purpose and number. Each (purpose, number) has a separate stream, so that the parts of
    /// a collection can be made in any order.
    pub fn new(seed: u64, purpose: &str, number: u64) -> Self {
        let mut state = SplitMix64(seed ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03));
        for byte in purpose.bytes() {
            state = SplitMix64(state.bits() ^ u64::from(byte));
        }
        Random(state)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.bits()
    }

    /// An integer in `0..n`; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        // The upper 32 bits times n, shifted down: no division, and a bias below n / 2^32.
        (((self.next_u64() >> 32) * n as u64) >> 32) as usize
    }

    /// An integer in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// A number in [0, 1), in steps of 2^-24.
    pub fn fraction(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A number in [0, 1), in steps of 2^-53.
    pub fn fine_fraction(&mut self) -> f64 {
        self.0.fraction()
    }

    /// A number in [-1, 1).
    pub fn signed_fraction(&mut self) -> f32 {
        self.fraction() * 2.0 - 1.0
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the choices; the type's default if there are none.
    pub fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        choices
            .get(self.below(choices.len()))
            .copied()
            .unwrap_or_default()
    }

    /// One of the texts; an empty one if there are none.
    pub fn pick_text<'a>(&mut self, choices: &'a [String]) -> &'a str {
        choices
            .get(self.below(choices.len()))
            .map_or("", String::as_str)
    }

    /// Puts the items in a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut random = Random::new(1, "ranges", 0);
        assert_eq!(random.below(0), 0);
        let mut seen = [false; 3];
        for _ in 0..100 {
            let number = random.between(4, 6);
            seen[number - 4] = true;
            assert!((-1.0..1.0).contains(&random.signed_fraction()));
            assert!((0.0..1.0).contains(&random.fine_fraction()));
        }
        assert_eq!(seen, [true; 3]);
    }
}
