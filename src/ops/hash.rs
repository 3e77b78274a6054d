//! The hash of an output, over its logical elements only: the same for every layout and dtype, and the
//! same on the CPU and in the inspect shader. Knows bits and indices; must not know what is right.

use rayon::prelude::*;

/// Elements a task hashes; large enough to hide the cost of handing it out.
const CHUNK: usize = 1 << 16;

fn mix(mut v: u32) -> u32 {
    v ^= v >> 16;
    v = v.wrapping_mul(0x7feb_352d);
    v ^= v >> 15;
    v = v.wrapping_mul(0x846c_a68b);
    v ^ (v >> 16)
}

/// The two sums of a hash, which add up over parts in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub lo: u32,
    pub hi: u32,
}

impl Sums {
    /// Adds the element with logical index `idx` whose IEEE f32 bits are `bits`.
    pub fn add(&mut self, idx: u32, bits: u32) {
        self.lo = self.lo.wrapping_add(mix(bits ^ mix(idx)));
        self.hi = self.hi.wrapping_add(mix(mix(bits.wrapping_add(0x9e37_79b9)).wrapping_add(idx)));
    }

    pub fn plus(self, other: Sums) -> Sums {
        Sums { lo: self.lo.wrapping_add(other.lo), hi: self.hi.wrapping_add(other.hi) }
    }

    pub fn hash(self) -> u64 {
        u64::from(self.hi) << 32 | u64::from(self.lo)
    }
}

/// -0 becomes +0: the two are equal, and which one a sum of zero is depends on its order.
pub fn canonical_bits(bits: u32) -> u32 {
    if bits == 0x8000_0000 { 0 } else { bits }
}

/// The sums of `values`, the first of which has logical index `first`.
pub fn sums(values: &[f32], first: usize, canonical: bool) -> Sums {
    let mut sums = Sums::default();
    for (i, value) in values.iter().enumerate() {
        let bits = value.to_bits();
        sums.add((first + i) as u32, if canonical { canonical_bits(bits) } else { bits });
    }
    sums
}

fn hash(values: &[f32], canonical: bool) -> u64 {
    values
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(i, chunk)| sums(chunk, i * CHUNK, canonical))
        .reduce(Sums::default, Sums::plus)
        .hash()
}

/// Equal for equal values. `values` in `[N][C][H][W]` order.
pub fn canonical(values: &[f32]) -> u64 {
    hash(values, true)
}

/// Equal for equal bits: tells +0 from -0, and one NaN from another.
pub fn raw(values: &[f32]) -> u64 {
    hash(values, false)
}

/// As printed: 16 lower-case hex digits.
pub fn to_text(hash: u64) -> String {
    format!("{hash:016x}")
}

pub fn from_text(text: &str) -> Option<u64> {
    if text.len() == 16 { u64::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_value_both_count() {
        let values: Vec<f32> = (0..200_000).map(|i| (i % 977) as f32 - 400.0).collect();
        let whole = canonical(&values);
        let mut swapped = values.clone();
        swapped.swap(10, 150_000);
        let mut changed = values.clone();
        changed[199_999] += 1.0;
        assert_ne!(whole, canonical(&swapped));
        assert_ne!(whole, canonical(&changed));
        assert_eq!(whole, sums(&values, 0, true).hash());
    }

    #[test]
    fn zero_has_one_canonical_form_and_two_raw_ones() {
        assert_eq!(canonical(&[0.0, 1.0]), canonical(&[-0.0, 1.0]));
        assert_ne!(raw(&[0.0, 1.0]), raw(&[-0.0, 1.0]));
    }

    #[test]
    fn text_round_trips() {
        let hash = canonical(&[1.5]);
        assert_eq!(from_text(&to_text(hash)), Some(hash));
        assert_eq!(from_text("12"), None);
    }
}
