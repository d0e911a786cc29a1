//! A small seeded generator, xoshiro256++ (Blackman and Vigna) seeded through splitmix64. The sequence of a seed
//! never changes between versions: schedules and recorded verdicts must be reproducible from their seed.

/// One step of splitmix64: advances `state` and returns a well mixed value.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// xoshiro256++. Not for secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose whole sequence is determined by `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut mixer = seed;
        Self { state: std::array::from_fn(|_| splitmix64(&mut mixer)) }
    }

    /// A generator for one numbered purpose of a seed, independent of the generators of other numbers.
    #[must_use]
    pub fn stream(seed: u64, number: u64) -> Self {
        let mut mixer = seed;
        let first = splitmix64(&mut mixer);
        Self::new(first ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let mut next = [s0, s1, s2 ^ s0, s3 ^ s1];
        next[1] ^= next[2];
        next[0] ^= next[3];
        next[2] ^= s1 << 17;
        next[3] = next[3].rotate_left(45);
        self.state = next;
        result
    }

    /// Uniform in `[0, 1)`, 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..bound`; 0 for a bound of 0. The bias (below `bound / 2^64`) is immaterial here.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A fair coin.
    pub fn coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// A standard normal value (Box-Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequence() {
        // Reference values of splitmix64 from seed 1234567 (Vigna's C source).
        let mut state = 1_234_567;
        assert_eq!(splitmix64(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(splitmix64(&mut state), 3_203_168_211_198_807_973);
        // xoshiro256++ from state {1, 2, 3, 4}.
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(random.next_u64(), 41_943_041);
        assert_eq!(random.next_u64(), 58_720_359);
        assert_eq!(random.next_u64(), 3_588_806_011_781_223);
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut random = Random::new(7);
        let values: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }

    #[test]
    fn below_stays_below() {
        let mut random = Random::new(1);
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
