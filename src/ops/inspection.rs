//! The record that classifies an output: which lanes hold poison, NaN or a wrong zero, and its hash. The CPU
//! counterpart of the harness's inspect shader, equal to it word by word. Knows bits; must not judge.

use rayon::prelude::*;

use super::hash::{Sums, canonical_bits};
use super::layout::{Allocation, LayoutError, POISON, lane_bits};

/// Words of the record as the shader leaves it.
pub const N_RECORD: usize = 12;
/// What the host sets the record to before the shader adds to it.
pub const EMPTY_RECORD: [u32; N_RECORD] = [0, 0, 0, 0, 0, 0, 0, 0, u32::MAX, u32::MAX, 0, 0];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspection {
    /// Hash of the values, equal for every layout and dtype.
    pub canonical: u64,
    /// Hash of the bits, -0 told from +0.
    pub raw: u64,
    /// Logical elements that are NaN, unwritten ones not among them.
    pub n_nan: u32,
    /// Logical elements that still hold the poison.
    pub n_unwritten: u32,
    /// Lanes past the last channel that are not zero.
    pub n_padding_bad: u32,
    /// Guard texels of which a lane is no longer the poison.
    pub n_guard_changed: u32,
    /// The smallest logical index that is NaN or unwritten.
    pub first_bad: Option<u32>,
    /// The smallest texel index of a changed guard.
    pub first_guard: Option<u32>,
    /// Logical elements seen: must be all of them.
    pub n_logical: u32,
}

impl Inspection {
    pub fn from_record(record: &[u32; N_RECORD]) -> Self {
        let first = |word: u32| (word != u32::MAX).then_some(word);
        Self {
            canonical: u64::from(record[1]) << 32 | u64::from(record[0]),
            raw: u64::from(record[3]) << 32 | u64::from(record[2]),
            n_nan: record[4],
            n_unwritten: record[5],
            n_padding_bad: record[6],
            n_guard_changed: record[7],
            first_bad: first(record[8]),
            first_guard: first(record[9]),
            n_logical: record[10],
        }
    }
}

#[derive(Clone, Copy)]
struct Counts {
    canonical: Sums,
    raw: Sums,
    /// Words 4 to 10 of the record.
    words: [u32; 7],
}

const NONE: Counts =
    Counts { canonical: Sums { lo: 0, hi: 0 }, raw: Sums { lo: 0, hi: 0 }, words: [0, 0, 0, 0, u32::MAX, u32::MAX, 0] };

impl Counts {
    fn plus(mut self, other: Counts) -> Counts {
        self.canonical = self.canonical.plus(other.canonical);
        self.raw = self.raw.plus(other.raw);
        for (i, (a, b)) in self.words.iter_mut().zip(other.words).enumerate() {
            *a = if i == 4 || i == 5 { (*a).min(b) } else { a.wrapping_add(b) };
        }
        self
    }

    fn texel(mut self, allocation: &Allocation, texel: usize, bytes: &[u8]) -> Counts {
        let [n_nan, n_unwritten, n_padding_bad, n_guard_changed, first_bad, first_guard, n_logical] = &mut self.words;
        let size = allocation.dtype.size_bytes();
        let poison = &POISON.word(allocation.dtype).to_le_bytes()[..size];
        let Some(elements) = allocation.locate(texel) else {
            if bytes.chunks(size).any(|lane| lane != poison) {
                *n_guard_changed += 1;
                *first_guard = (*first_guard).min(texel as u32);
            }
            return self;
        };
        for (lane, element) in bytes.chunks(size).zip(elements) {
            let bits = lane_bits(allocation.dtype, lane);
            let Some(element) = element else {
                *n_padding_bad += u32::from(bits & 0x7fff_ffff != 0);
                continue;
            };
            let index = element as u32;
            self.canonical.add(index, canonical_bits(bits));
            self.raw.add(index, bits);
            *n_logical += 1;
            let unwritten = lane == poison;
            let nan = f32::from_bits(bits).is_nan();
            *n_unwritten += u32::from(unwritten);
            *n_nan += u32::from(nan && !unwritten);
            if unwritten || nan {
                *first_bad = (*first_bad).min(index);
            }
        }
        self
    }
}

/// Inspects all that was allocated for an output, read back after a run that started from
/// [`Allocation::poisoned`].
pub fn inspect(bytes: &[u8], allocation: &Allocation) -> Result<Inspection, LayoutError> {
    if bytes.len() != allocation.size_bytes() {
        return Err(LayoutError::Bytes { given: bytes.len(), needed: allocation.size_bytes() });
    }
    let counts = bytes
        .par_chunks(allocation.texel_bytes())
        .enumerate()
        .with_min_len(4096)
        .fold(|| NONE, |counts, (texel, bytes)| counts.texel(allocation, texel, bytes))
        .reduce(|| NONE, Counts::plus);
    let mut record = EMPTY_RECORD;
    record[..4].copy_from_slice(&[counts.canonical.lo, counts.canonical.hi, counts.raw.lo, counts.raw.hi]);
    record[4..11].copy_from_slice(&counts.words);
    Ok(Inspection::from_record(&record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Dtype, Layout};
    use crate::ops::hash;
    use crate::ops::layout::{GuardSize, Lanes};

    const DIMS: [usize; 4] = [2, 6, 3, 5];

    /// An output as a right kernel leaves it: everything written, padding lanes zero, guards untouched.
    fn written(layout: Layout, dtype: Dtype) -> (Allocation, Vec<f32>, Vec<u8>) {
        let guards = GuardSize { tile: 4, offset_align_bytes: 16 };
        let allocation = Allocation::guarded(layout, dtype, DIMS, guards).unwrap();
        let values: Vec<f32> = (0..180).map(|i| (i % 61) as f32 - 30.0).collect();
        let packed = allocation.pack(&values, Lanes::Zero).unwrap();
        let mut bytes = allocation.poisoned();
        let size = allocation.texel_bytes();
        for texel in (0..allocation.n_texels()).filter(|t| allocation.locate(*t).is_some()) {
            bytes[texel * size..][..size].copy_from_slice(&packed[texel * size..][..size]);
        }
        (allocation, values, bytes)
    }

    fn each(check: impl Fn(Allocation, Vec<f32>, Vec<u8>)) {
        for layout in [Layout::Tex3dC4, Layout::BufC4] {
            for dtype in [Dtype::F32, Dtype::F16] {
                let (allocation, values, bytes) = written(layout, dtype);
                check(allocation, values, bytes);
            }
        }
    }

    fn lane_mut<'a>(allocation: &Allocation, bytes: &'a mut [u8], texel: usize, lane: usize) -> &'a mut [u8] {
        let size = allocation.dtype.size_bytes();
        &mut bytes[(texel * 4 + lane) * size..][..size]
    }

    #[test]
    fn a_right_output_is_clean_and_hashes_alike_in_every_layout() {
        each(|allocation, values, bytes| {
            let seen = inspect(&bytes, &allocation).unwrap();
            assert_eq!((seen.canonical, seen.raw), (hash::canonical(&values), hash::raw(&values)));
            assert_eq!((seen.n_nan, seen.n_unwritten, seen.n_padding_bad, seen.n_guard_changed), (0, 0, 0, 0));
            assert_eq!((seen.first_bad, seen.first_guard, seen.n_logical), (None, None, 180));
        });
    }

    #[test]
    fn each_fault_is_counted_as_what_it_is() {
        each(|allocation, _, bytes| {
            let (texel, lane) = allocation.place(77);
            let mut poisoned = bytes.clone();
            let pattern = POISON.word(allocation.dtype).to_le_bytes();
            let size = allocation.dtype.size_bytes();
            lane_mut(&allocation, &mut poisoned, texel, lane).copy_from_slice(&pattern[..size]);
            let seen = inspect(&poisoned, &allocation).unwrap();
            assert_eq!((seen.n_unwritten, seen.n_nan, seen.first_bad), (1, 0, Some(77)));

            let mut nan = poisoned.clone();
            lane_mut(&allocation, &mut nan, texel, lane)[0] ^= 1;
            let seen = inspect(&nan, &allocation).unwrap();
            assert_eq!((seen.n_unwritten, seen.n_nan, seen.first_bad), (0, 1, Some(77)));

            // Channel 5 is the last of 6: lanes 2 and 3 of its texel are padding.
            let (texel, _) = allocation.place(5 * 15);
            let mut padding = bytes.clone();
            lane_mut(&allocation, &mut padding, texel, 3)[0] = 1;
            let seen = inspect(&padding, &allocation).unwrap();
            assert_eq!((seen.n_padding_bad, seen.n_guard_changed, seen.first_bad), (1, 0, None));

            let guard = (0..allocation.n_texels()).find(|t| allocation.locate(*t).is_none()).unwrap();
            let mut stray = bytes.clone();
            lane_mut(&allocation, &mut stray, guard, 2).fill(0);
            let seen = inspect(&stray, &allocation).unwrap();
            assert_eq!((seen.n_guard_changed, seen.first_guard), (1, Some(guard as u32)));
            assert_eq!(seen.canonical, inspect(&bytes, &allocation).unwrap().canonical);
        });
    }

    #[test]
    fn nothing_written_is_all_unwritten() {
        each(|allocation, _, _| {
            let seen = inspect(&allocation.poisoned(), &allocation).unwrap();
            assert_eq!((seen.n_unwritten, seen.n_nan, seen.first_bad), (180, 0, Some(0)));
            // Poison in a padding lane is not the zero that was promised.
            assert_eq!(seen.n_padding_bad, 2 * 15 * 2);
        });
        let (allocation, _, bytes) = written(Layout::BufC4, Dtype::F16);
        assert!(inspect(&bytes[1..], &allocation).is_err());
    }
}
