//! Counter-based random numbers: element `i` of a stream can be made alone, in parallel, and again on
//! another machine from the seed. Knows nothing of what the numbers are for.

/// One stream of a seed. Streams with different ids are independent.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    key: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
fn mix64(mut v: u64) -> u64 {
    v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}

impl Stream {
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { key: seed ^ mix64(stream.wrapping_add(GOLDEN)) }
    }

    pub fn bits(self, i: u64) -> u64 {
        mix64(self.key.wrapping_add(i.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// Uniform in `0..n`, by multiplication: the bias is below 2^-32 for the small n used here.
    pub fn below(self, i: u64, n: u32) -> u32 {
        (((self.bits(i) >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(self, i: u64) -> f64 {
        let bits = self.bits(i);
        let unit = |half: u64| (half as f64 + 0.5) / 4_294_967_296.0;
        let (radius, angle) = (unit(bits >> 32), unit(bits & 0xffff_ffff));
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let stream = Stream::new(7, 3);
        let n = 100_000;
        let values: Vec<f64> = (0..n).map(|i| stream.normal(i)).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let variance = values.iter().map(|v| v * v).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "mean {mean}, variance {variance}");
    }

    #[test]
    fn streams_and_seeds_differ() {
        let bits = |seed, stream| Stream::new(seed, stream).bits(0);
        assert_ne!(bits(1, 0), bits(1, 1));
        assert_ne!(bits(1, 0), bits(2, 0));
        assert!((0..1000).all(|i| Stream::new(1, 0).below(i, 7) < 7));
    }
}
