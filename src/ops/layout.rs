//! How logical tensors lie in memory: packing to raw bytes with guards and padding lanes, and back.
//! Knows layouts, dtypes and texels; must not know what the values mean.
//!
//! A buffer is `leading guard | tensor | trailing guard`; the descriptor's range starts at the tensor, so the
//! leading guard lies outside it and the trailing one *inside*, where robust buffer access cannot hide a
//! stray read. An image has no inside: it is allocated larger than the size that the shader is told.

use half::f16;
use rayon::prelude::*;

use super::case::Conv2dShape;
use crate::matrix::{Dtype, Layout, Role};

/// A NaN with a payload that no arithmetic makes, in either dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    pub f32: u32,
    pub f16: u16,
}

/// Fills the output and its guards before a run.
pub const POISON: Pattern = Pattern { f32: 0x7fc0_dead, f16: 0x7e5a };
/// Fills the guards and the undefined padding lanes of operands.
pub const GUARD: Pattern = Pattern { f32: 0x7fd0_beef, f16: 0x7ea5 };

impl Pattern {
    /// As a 32-bit word; f16 stands in both halves.
    pub fn word(self, dtype: Dtype) -> u32 {
        match dtype {
            Dtype::F32 => self.f32,
            Dtype::F16 => u32::from(self.f16) << 16 | u32::from(self.f16),
        }
    }
}

/// What the lanes past the last channel of an activation or a bias hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    Zero,
    /// [`GUARD`]: the kernel must not let them reach an output.
    Undefined,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error("a tensor of {given} elements does not fill the dims {dims:?}")]
    Length { given: usize, dims: [usize; 4] },
    #[error("{given} bytes were read back (allocated: {needed})")]
    Bytes { given: usize, needed: usize },
    #[error("the tensor with dims {dims:?} needs more than 2^31 texels with its guards")]
    TooLarge { dims: [usize; 4] },
}

/// The `[N, C, H, W]` (or `[OC, IC, KH, KW]`) that an [`Allocation`] takes for a binding of a case.
pub fn binding_dims(role: Role, shape: &Conv2dShape) -> [usize; 4] {
    match role {
        Role::Output => shape.output_dims(),
        Role::Input => shape.input_dims(),
        Role::Weight => shape.weight_dims(),
        Role::Bias => [1, shape.c_out, 1, 1],
    }
}

/// How much to allocate beyond the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardSize {
    /// The largest tile on any axis: images grow by it on each axis, buffers by so many rows.
    pub tile: u32,
    /// The device's alignment of storage buffer offsets.
    pub offset_align_bytes: u64,
}

/// The tile that verification guards against: no shipped tile or k step reaches further on any axis. The sweep judges image extents
/// with it, and the worker allocates with it.
pub const GUARD_TILE: u32 = 8;

/// At least `extent`, and no power of two below 256, the smallest limit that Vulkan allows a device to have. lavapipe compiles a
/// shader anew for each combination of image extents that are one and that are not (0.4 to 0.8 s for a large tile); with
/// guards of free size, one compilation serves every shape.
fn uneven(extent: u64) -> u64 {
    extent + u64::from(extent < 256 && extent.is_power_of_two())
}

/// A tensor's place in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    pub layout: Layout,
    pub dtype: Dtype,
    /// `[N, C, H, W]` of an activation, `[1, C, 1, 1]` of a bias, `[OC, IC / groups, KH, KW]` of weights.
    pub dims: [usize; 4],
    /// Texels of the tensor: width, height and depth of an image, `[n, 1, 1]` of a buffer.
    pub logical: [u32; 3],
    /// The same with guards.
    pub allocated: [u32; 3],
    /// Buffers: texels of the leading guard, as long as the trailing one or longer. Images: 0.
    pub first_texel: u32,
}

/// Offsets are multiples of this at least, so that no device's alignment makes the leading guard vanish.
const LEADING_GUARD_BYTES: u64 = 256;

impl Allocation {
    /// Without guards.
    pub fn exact(layout: Layout, dtype: Dtype, dims: [usize; 4]) -> Result<Self, LayoutError> {
        Self::new(layout, dtype, dims, None)
    }

    pub fn guarded(layout: Layout, dtype: Dtype, dims: [usize; 4], size: GuardSize) -> Result<Self, LayoutError> {
        Self::new(layout, dtype, dims, Some(size))
    }

    fn new(layout: Layout, dtype: Dtype, dims: [usize; 4], guard: Option<GuardSize>) -> Result<Self, LayoutError> {
        let [d0, d1, d2, d3] = dims.map(|d| d as u64);
        let too_large = || LayoutError::TooLarge { dims };
        if [d0, d1, d2, d3].iter().any(|d| *d > 1 << 31) {
            return Err(too_large());
        }
        let product = |factors: [u64; 4]| factors.iter().try_fold(1u64, |p, f| p.checked_mul(*f)).ok_or_else(too_large);
        let logical: [u64; 3] = match layout {
            Layout::Tex3dC4 => [d3, d2, product([d0, d1.div_ceil(4), 1, 1])?],
            Layout::BufC4 => [product([d0, d1.div_ceil(4), d2, d3])?, 1, 1],
            Layout::Tex2dOc4Ic4 => [4 * d0.div_ceil(4), product([d1.div_ceil(4), d2, d3, 1])?, 1],
            Layout::BufOc4Ic4 => {
                let n_rows = product([d1.div_ceil(4), d2, d3, 1])?;
                [product([4, d0.div_ceil(4), n_rows, 1])?, 1, 1]
            }
        };
        let mut allocated = logical;
        let mut first_texel = 0;
        if let Some(GuardSize { tile, offset_align_bytes }) = guard {
            let tile = u64::from(tile.max(1));
            let texel_bytes = 4 * dtype.size_bytes() as u64;
            // A tile that starts in the last row of pixels, or of k, ends at most `tile` rows further, and one in the padding
            // begins as far before the first.
            let trailing = match layout {
                Layout::Tex3dC4 => {
                    allocated = logical.map(|extent| uneven(extent + tile));
                    0
                }
                Layout::Tex2dOc4Ic4 => {
                    allocated = [uneven(logical[0] + 4 * tile), uneven(logical[1] + tile), 1];
                    0
                }
                Layout::BufC4 => product([tile, d3 + 1, d1.div_ceil(4), 1])?,
                Layout::BufOc4Ic4 => product([tile, 4, d0.div_ceil(4), 1])?,
            };
            if !layout.is_image() {
                let align = offset_align_bytes.max(LEADING_GUARD_BYTES).div_ceil(texel_bytes);
                first_texel = trailing.next_multiple_of(align);
                allocated[0] += first_texel + trailing;
            }
        }
        let n_texels = product([allocated[0], allocated[1], allocated[2], 1])?;
        if n_texels >= 1 << 31 {
            return Err(too_large());
        }
        Ok(Self {
            layout,
            dtype,
            dims,
            logical: logical.map(|e| e as u32),
            allocated: allocated.map(|e| e as u32),
            first_texel: first_texel as u32,
        })
    }

    pub fn n_elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Guards included.
    pub fn n_texels(&self) -> usize {
        self.allocated.iter().map(|e| *e as usize).product()
    }

    pub fn texel_bytes(&self) -> usize {
        4 * self.dtype.size_bytes()
    }

    pub fn size_bytes(&self) -> usize {
        self.n_texels() * self.texel_bytes()
    }

    /// The descriptor's offset into a buffer.
    pub fn offset_bytes(&self) -> u64 {
        u64::from(self.first_texel) * self.texel_bytes() as u64
    }

    /// The descriptor's range in a buffer: the tensor and its trailing guard.
    pub fn range_bytes(&self) -> u64 {
        self.size_bytes() as u64 - self.offset_bytes()
    }

    /// Texels of channels: of an activation's pixel, or of the input channels of one tap.
    fn n_c4(&self) -> usize {
        self.dims[1].div_ceil(4)
    }

    fn n_taps(&self) -> usize {
        self.dims[2] * self.dims[3]
    }

    /// Which element each lane of a texel holds: `None` for a guard, and within for a lane past an edge.
    pub fn locate(&self, texel: usize) -> Option<[Option<usize>; 4]> {
        let [d0, d1, h, w] = self.dims;
        let (width, height) = (self.allocated[0] as usize, self.allocated[1] as usize);
        let (x, y, z) = (texel % width, texel / width % height, texel / (width * height));
        let inside = |at: usize, axis: usize| at < self.logical[axis] as usize;
        match self.layout {
            Layout::Tex3dC4 | Layout::BufC4 => {
                let n_c4 = self.n_c4();
                let (n, c4, y, x) = if self.layout.is_image() {
                    if !(inside(x, 0) && inside(y, 1) && inside(z, 2)) {
                        return None;
                    }
                    (z / n_c4, z % n_c4, y, x)
                } else {
                    let at = texel.checked_sub(self.first_texel as usize).filter(|at| inside(*at, 0))?;
                    let pixel = at / n_c4;
                    (pixel / (w * h), at % n_c4, pixel / w % h, pixel % w)
                };
                Some(std::array::from_fn(|lane| {
                    let c = 4 * c4 + lane;
                    (c < d1).then_some(((n * d1 + c) * h + y) * w + x)
                }))
            }
            Layout::Tex2dOc4Ic4 | Layout::BufOc4Ic4 => {
                // Rows of weights: taps, and the texels of input channels within each.
                let (n4, row, dk) = if self.layout.is_image() {
                    if !(inside(x, 0) && inside(y, 1)) {
                        return None;
                    }
                    (x / 4, y, x % 4)
                } else {
                    let at = texel.checked_sub(self.first_texel as usize).filter(|at| inside(*at, 0))?;
                    let n_n4 = d0.div_ceil(4);
                    (at / 4 % n_n4, at / 4 / n_n4, at % 4)
                };
                let (tap, k4) = (row / self.n_c4(), row % self.n_c4());
                Some(std::array::from_fn(|lane| {
                    let (oc, ic) = (4 * n4 + lane, 4 * k4 + dk);
                    (oc < d0 && ic < d1).then_some((oc * d1 + ic) * self.n_taps() + tap)
                }))
            }
        }
    }

    /// The texel and lane of an element: the inverse of [`Self::locate`].
    pub fn place(&self, element: usize) -> (usize, usize) {
        let [d0, d1, h, w] = self.dims;
        let (width, height) = (self.allocated[0] as usize, self.allocated[1] as usize);
        let first = self.first_texel as usize;
        match self.layout {
            Layout::Tex3dC4 | Layout::BufC4 => {
                let (x, y) = (element % w, element / w % h);
                let (c, n) = (element / (w * h) % d1, element / (w * h * d1));
                let texel = if self.layout.is_image() {
                    ((n * self.n_c4() + c / 4) * height + y) * width + x
                } else {
                    first + ((n * h + y) * w + x) * self.n_c4() + c / 4
                };
                (texel, c % 4)
            }
            Layout::Tex2dOc4Ic4 | Layout::BufOc4Ic4 => {
                let (tap, channels) = (element % self.n_taps(), element / self.n_taps());
                let (oc, ic) = (channels / d1, channels % d1);
                let row = tap * self.n_c4() + ic / 4;
                let texel = if self.layout.is_image() {
                    row * width + oc / 4 * 4 + ic % 4
                } else {
                    first + (row * d0.div_ceil(4) + oc / 4) * 4 + ic % 4
                };
                (texel, oc % 4)
            }
        }
    }

    /// The raw bytes of an operand: guards hold [`GUARD`], lanes past an edge of weights zero, and of
    /// activations and biases what `lanes` says. Values must be exact in the dtype.
    pub fn pack(&self, values: &[f32], lanes: Lanes) -> Result<Vec<u8>, LayoutError> {
        if values.len() != self.n_elements() {
            return Err(LayoutError::Length { given: values.len(), dims: self.dims });
        }
        let is_weight = matches!(self.layout, Layout::Tex2dOc4Ic4 | Layout::BufOc4Ic4);
        let undefined = lanes == Lanes::Undefined && !is_weight;
        let mut bytes = vec![0u8; self.size_bytes()];
        bytes.par_chunks_mut(self.texel_bytes()).with_min_len(4096).enumerate().for_each(|(texel, out)| {
            let located = self.locate(texel);
            for (lane, to) in out.chunks_mut(self.dtype.size_bytes()).enumerate() {
                let element = located.map(|elements| elements[lane]);
                match self.dtype {
                    Dtype::F32 => to.copy_from_slice(
                        &match element {
                            Some(Some(i)) => values[i].to_bits(),
                            Some(None) if !undefined => 0,
                            _ => GUARD.f32,
                        }
                        .to_le_bytes(),
                    ),
                    Dtype::F16 => to.copy_from_slice(
                        &match element {
                            Some(Some(i)) => f16::from_f32(values[i]).to_bits(),
                            Some(None) if !undefined => 0,
                            _ => GUARD.f16,
                        }
                        .to_le_bytes(),
                    ),
                }
            }
        });
        Ok(bytes)
    }

    /// The raw bytes of an output before a run: all of it [`POISON`], guards too.
    pub fn poisoned(&self) -> Vec<u8> {
        let word = POISON.word(self.dtype).to_le_bytes();
        word.iter().copied().cycle().take(self.size_bytes()).collect()
    }

    /// The logical values in raw bytes that were read back.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Vec<f32>, LayoutError> {
        if bytes.len() != self.size_bytes() {
            return Err(LayoutError::Bytes { given: bytes.len(), needed: self.size_bytes() });
        }
        let size = self.dtype.size_bytes();
        let value = |element: usize| {
            let (texel, lane) = self.place(element);
            let at = &bytes[(texel * 4 + lane) * size..][..size];
            f32::from_bits(lane_bits(self.dtype, at))
        };
        Ok((0..self.n_elements()).into_par_iter().with_min_len(4096).map(value).collect())
    }
}

/// A stored lane as IEEE f32 bits: f16 widened exactly, the payload of a NaN shifted along.
pub fn lane_bits(dtype: Dtype, bytes: &[u8]) -> u32 {
    match (dtype, bytes) {
        (Dtype::F32, [a, b, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]),
        (Dtype::F16, [a, b]) => {
            let bits = u16::from_le_bytes([*a, *b]);
            // The conversion of a float would make a signalling NaN quiet.
            if bits & 0x7c00 == 0x7c00 {
                u32::from(bits & 0x8000) << 16 | 0x7f80_0000 | u32::from(bits & 0x03ff) << 13
            } else {
                f16::from_bits(bits).to_f32().to_bits()
            }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GUARDS: GuardSize = GuardSize { tile: 4, offset_align_bytes: 64 };

    fn any_allocation() -> impl Strategy<Value = Allocation> {
        let layouts = prop::sample::select(Layout::ALL.map(|(_, l)| l).to_vec());
        let dtypes = prop::sample::select(vec![Dtype::F32, Dtype::F16]);
        (layouts, dtypes, [1usize..4, 1..14, 1..6, 1..6], any::<bool>()).prop_map(|(layout, dtype, dims, guarded)| {
            if guarded {
                Allocation::guarded(layout, dtype, dims, GUARDS)
            } else {
                Allocation::exact(layout, dtype, dims)
            }
            .unwrap()
        })
    }

    proptest! {
        #[test]
        fn packing_round_trips(allocation in any_allocation(), undefined: bool) {
            let values: Vec<f32> = (0..allocation.n_elements()).map(|i| i as f32 - 40.0).collect();
            let lanes = if undefined { Lanes::Undefined } else { Lanes::Zero };
            let bytes = allocation.pack(&values, lanes).unwrap();
            prop_assert_eq!(bytes.len(), allocation.size_bytes());
            prop_assert_eq!(allocation.unpack(&bytes).unwrap(), values);
        }

        #[test]
        fn every_element_has_one_lane(allocation in any_allocation()) {
            let mut seen = vec![0; allocation.n_elements()];
            let mut n_texels = 0;
            for texel in 0..allocation.n_texels() {
                for (lane, element) in allocation.locate(texel).into_iter().flatten().enumerate() {
                    n_texels += usize::from(lane == 0);
                    if let Some(element) = element {
                        prop_assert_eq!(allocation.place(element), (texel, lane));
                        seen[element] += 1;
                    }
                }
            }
            prop_assert!(seen.iter().all(|n| *n == 1));
            prop_assert_eq!(n_texels, allocation.logical.iter().map(|e| *e as usize).product::<usize>());
        }

        #[test]
        fn guards_and_padding_lanes_hold_what_they_should(allocation in any_allocation()) {
            let values = vec![1.0; allocation.n_elements()];
            let bytes = allocation.pack(&values, Lanes::Undefined).unwrap();
            let is_weight = matches!(allocation.layout, Layout::Tex2dOc4Ic4 | Layout::BufOc4Ic4);
            for (texel, raw) in bytes.chunks(allocation.texel_bytes()).enumerate() {
                for (lane, raw) in raw.chunks(allocation.dtype.size_bytes()).enumerate() {
                    let value = f32::from_bits(lane_bits(allocation.dtype, raw));
                    match allocation.locate(texel) {
                        None => prop_assert!(value.is_nan()),
                        Some(lanes) if lanes[lane].is_some() => prop_assert_eq!(value, 1.0),
                        Some(_) if is_weight => prop_assert_eq!(value, 0.0),
                        Some(_) => prop_assert!(value.is_nan()),
                    }
                }
            }
        }
    }

    #[test]
    fn layouts_are_as_the_interface_says() {
        let (n, c, h, w) = (2, 6, 3, 5);
        let element = |n: usize, c: usize, y: usize, x: usize| ((n * 6 + c) * h + y) * w + x;
        let image = Allocation::exact(Layout::Tex3dC4, Dtype::F16, [n, c, h, w]).unwrap();
        assert_eq!(image.logical, [5, 3, 4]);
        assert_eq!(image.place(element(1, 5, 2, 3)), ((3 * 3 + 2) * 5 + 3, 1));
        let buffer = Allocation::exact(Layout::BufC4, Dtype::F16, [n, c, h, w]).unwrap();
        assert_eq!(buffer.place(element(1, 5, 2, 3)), (((3 + 2) * 5 + 3) * 2 + 1, 1));
        let weights = Allocation::exact(Layout::Tex2dOc4Ic4, Dtype::F32, [10, 7, 1, 1]).unwrap();
        assert_eq!(weights.logical, [12, 2, 1]);
        assert_eq!(weights.place(9 * 7 + 6), (12 + 2 * 4 + 2, 1));
        let blocks = Allocation::exact(Layout::BufOc4Ic4, Dtype::F32, [10, 7, 1, 1]).unwrap();
        assert_eq!(blocks.place(9 * 7 + 6), ((3 + 2) * 4 + 2, 1));
        // Tap 4 of a 3 x 2 window: 4 taps of 2 rows of 3 blocks lie before it.
        let windows = Allocation::exact(Layout::BufOc4Ic4, Dtype::F32, [10, 7, 3, 2]).unwrap();
        assert_eq!(windows.place((9 * 7 + 6) * 6 + 4), ((4 * 2 * 3 + 3 + 2) * 4 + 2, 1));
        let windows = Allocation::exact(Layout::Tex2dOc4Ic4, Dtype::F32, [10, 7, 3, 2]).unwrap();
        assert_eq!((windows.logical, windows.place((9 * 7 + 6) * 6 + 4)), ([12, 12, 1], ((4 * 2 + 1) * 12 + 8 + 2, 1)));
    }

    #[test]
    fn guards_lie_before_the_offset_and_inside_the_range() {
        let buffer = Allocation::guarded(Layout::BufC4, Dtype::F16, [1, 13, 9, 7], GUARDS).unwrap();
        // 4 rows of 7 + 1 pixels of 4 texels, in whole 256 bytes.
        assert_eq!(buffer.offset_bytes(), 4 * 8 * 4 * 8);
        assert_eq!(buffer.range_bytes(), (63 * 4 + 4 * 8 * 4) * 8);
        let image = Allocation::guarded(Layout::Tex3dC4, Dtype::F16, [2, 13, 9, 7], GUARDS).unwrap();
        assert_eq!((image.logical, image.allocated), ([7, 9, 8], [11, 13, 12]));
        assert_eq!(image.first_texel, 0);
        let poisoned = image.poisoned();
        assert!(poisoned.chunks(2).all(|lane| lane == POISON.f16.to_le_bytes()));
        assert!(image.unpack(&poisoned).unwrap().iter().all(|v| v.is_nan()));
    }

    #[test]
    fn misfits_are_errors() {
        assert!(Allocation::exact(Layout::BufC4, Dtype::F32, [1 << 20, 4, 1 << 20, 1]).is_err());
        assert!(Allocation::exact(Layout::BufC4, Dtype::F32, [usize::MAX; 4]).is_err());
        let small = Allocation::exact(Layout::BufC4, Dtype::F32, [1, 4, 2, 2]).unwrap();
        assert!(small.pack(&[0.0; 15], Lanes::Zero).is_err());
        assert!(small.unpack(&[0; 60]).is_err());
    }

    #[test]
    fn every_f16_widens_like_the_library_says() {
        for bits in 0..=u16::MAX {
            let widened = f32::from_bits(lane_bits(Dtype::F16, &bits.to_le_bytes()));
            let value = f16::from_bits(bits).to_f32();
            assert!(widened == value || (widened.is_nan() && value.is_nan()), "{bits:#x}");
        }
    }
}
