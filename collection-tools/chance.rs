//! Random choices that stay the same when a crate is updated.

/// SplitMix64 (Steele, Lea and Flood 2014): 64 bits of state, all of its values in one period.
#[derive(Clone)]
pub struct Chance(u64);

impl Chance {
    /// A stream of its own for each (seed, use, number): images can then be made in any order.
    pub fn new(seed: u64, what: &str, number: u64) -> Self {
        let mut state = Chance(seed ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03));
        for byte in what.bytes() {
            state.0 = state.next() ^ u64::from(byte);
        }
        state
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In 0..n; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        // The upper half times n, shifted down: no division, and a bias under n / 2^32.
        (((self.next() >> 32) * n as u64) >> 32) as usize
    }

    /// In low..=high.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// In [0, 1).
    pub fn fraction(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// In [-1, 1).
    pub fn swing(&mut self) -> f32 {
        self.fraction() * 2.0 - 1.0
    }

    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the choices; the type's default where there are none.
    pub fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        choices
            .get(self.below(choices.len()))
            .copied()
            .unwrap_or_default()
    }

    /// One of the texts; "" where there are none.
    pub fn word<'a>(&mut self, choices: &'a [String]) -> &'a str {
        choices
            .get(self.below(choices.len()))
            .map_or("", String::as_str)
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
