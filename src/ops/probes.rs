//! The relatives of a case that verification adds: padded, strided, ragged, batched and 1 x 1, at the case's own K or one channel
//! more or less; the edges of tiles, crossed; and two whose indices need more than 16 bits. Cheap by construction; must not know a
//! device.

use super::Case;
use super::case::{CaseError, Conv2dShape, Op};

/// One relative, by the output that its tiles must cover.
struct Probe {
    c_out: usize,
    h_out: usize,
    w_out: usize,
    stride: usize,
    padding: usize,
    batch: usize,
    c_in: InputChannels,
}

/// Input channels of a group.
#[derive(Clone, Copy)]
enum InputChannels {
    Own,
    /// One more or less, off the multiples of 4 and 8.
    Ragged,
    Exactly(usize),
}

/// Texels, or blocks of four weights, that no index of 16 bits reaches.
const PAST_16_BITS: usize = 1 << 16;
/// Odd. With a channel texel or several below it is large enough, and no side is near the limit of an image's extent.
const LARGE_WIDTH: usize = 127;

/// Input channels of a group on the edges of tiles: a step of 8, one of 4, and one channel.
const EDGE_CHANNELS: usize = 13;

/// The largest tiles of a kernel's variants, in output elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    pub columns: usize,
    pub rows: usize,
    pub channels: usize,
}

/// What verification adds to a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Relatives {
    /// At the case's own K.
    pub own: Vec<Case>,
    /// The same for most cases of a sweep, so that nobody has to show them twice.
    pub shared: Vec<Case>,
}

/// The relatives of a case. Its own are five small ones, whose widths are `columns` of the tile - 1, exactly, and + 1, and 1; heights
/// 1, 2, 3 and 6; output channels ragged, those of the last ending with a whole texel and half a tile of 8. The third image is one
/// that a kernel for two forgets.
///
/// The shared ones are one element short of the tile, full and one over on each of its axes, in all combinations, and two whose
/// indices, counted in texels, need more than 16 bits: one into its pixels, the other, where there are weights, into those.
pub fn relatives(case: &Case, tile: Tile) -> Result<Relatives, CaseError> {
    let shape = Conv2dShape::of(case)?;
    let columns = tile.columns.max(2);
    let probe = Probe::plain;
    let own = [
        Probe {
            stride: 2,
            padding: (shape.kernel_h.min(shape.kernel_w) / 2).max(1),
            batch: 2,
            ..probe(27, 3, columns)
        },
        Probe { batch: 3, c_in: InputChannels::Ragged, ..probe(13, 2, columns + 1) },
        probe(22, 1, if columns > 2 { columns - 1 } else { 3 }),
        probe(21, 6, 1),
        probe(20, 1, 1),
    ];
    let made = |probes: Vec<Probe>| probes.iter().map(|probe| probe.case(&shape, case)).collect::<Result<Vec<_>, _>>();
    let mut known = vec![case.id.clone()];
    let mut fresh = |cases: Vec<Case>| {
        let is_new = |case: &Case| {
            let is_new = !known.contains(&case.id);
            known.push(case.id.clone());
            is_new
        };
        cases.into_iter().filter(is_new).collect::<Vec<_>>()
    };
    let own = fresh(made(own.into())?);
    let shared = fresh(made(edges(tile).chain(past_16_bits(&shape)).collect())?);
    Ok(Relatives { own, shared })
}

/// One short, full and one over, on each axis.
fn edges(tile: Tile) -> impl Iterator<Item = Probe> {
    let about = |extent: usize| extent.saturating_sub(1).max(1)..=extent + 1;
    let plane = about(tile.rows).flat_map(move |rows| about(tile.columns).map(move |columns| (rows, columns)));
    plane.flat_map(move |(rows, columns)| {
        let c_in = InputChannels::Exactly(EDGE_CHANNELS);
        about(tile.channels).map(move |channels| Probe { c_in, ..Probe::plain(channels, rows, columns) })
    })
}

/// Their channels are not those of the case, so that they are the same for most cases of a sweep.
fn past_16_bits(shape: &Conv2dShape) -> Vec<Probe> {
    // Images are enlarged by a tile in depth, too, so several texels of channels cost less than more pixels; of a window's many
    // products they do not.
    let few: usize = if shape.kernel_h * shape.kernel_w == 1 { 16 } else { 4 };
    let few = few.div_ceil(shape.groups);
    let rows = PAST_16_BITS.div_ceil(LARGE_WIDTH * (few * shape.groups).div_ceil(4)) + 1;
    let pixels = Probe { c_in: InputChannels::Exactly(few), ..Probe::plain(few * shape.groups - 1, rows, LARGE_WIDTH) };
    let wide = wide_channels(shape);
    let weights = Probe { c_in: InputChannels::Exactly(wide), ..Probe::plain((wide * shape.groups) | 1, 1, 1) };
    let has_weights = shape.op != Op::Elementwise;
    std::iter::once(pixels).chain(has_weights.then_some(weights)).collect()
}

/// Channels of a group, in and out, whose weights are more than four times [`PAST_16_BITS`].
fn wide_channels(shape: &Conv2dShape) -> usize {
    let pairs = (4 * PAST_16_BITS).div_ceil(shape.kernel_h * shape.kernel_w * shape.groups);
    pairs.isqrt() + 1
}

impl Probe {
    fn plain(c_out: usize, h_out: usize, w_out: usize) -> Self {
        Self { c_out, h_out, w_out, stride: 1, padding: 0, batch: 1, c_in: InputChannels::Own }
    }

    fn case(&self, shape: &Conv2dShape, of: &Case) -> Result<Case, CaseError> {
        // The smallest input with this output, so that the last output lies in the padding behind the input: a stray read
        // before an image yields zero on some drivers, which is what padding is, but behind it stands the guard.
        // Of fewer than three outputs all would lie in the padding; these get the largest input.
        let input = |out: usize, kernel: usize| {
            let slack = if out >= 3 { 0 } else { self.stride - 1 };
            let padded = (out - 1) * self.stride + kernel + slack;
            padded.saturating_sub(2 * self.padding).max(1)
        };
        let groups = shape.groups;
        let group_in = shape.c_in / groups;
        let group_in = match self.c_in {
            InputChannels::Own => group_in,
            InputChannels::Ragged if group_in % 4 == 3 => group_in - 1,
            InputChannels::Ragged => group_in + 1,
            InputChannels::Exactly(channels) => channels,
        };
        let mut fields = of.fields.0.clone();
        let mut set = |name: &str, value: usize| fields.insert(name.to_owned(), value as i64);
        if shape.op == Op::Elementwise {
            for (name, value) in [("c", self.c_out), ("h", self.h_out), ("w", self.w_out), ("batch", self.batch)] {
                set(name, value);
            }
            return Case::new(&of.op, &fields);
        }
        set("c_in", group_in * groups);
        set("c_out", self.c_out.next_multiple_of(groups));
        set("h", input(self.h_out, shape.kernel_h));
        set("w", input(self.w_out, shape.kernel_w));
        set("stride", self.stride);
        set("padding", self.padding);
        set("batch", self.batch);
        Case::new(&of.op, &fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: Tile = Tile { columns: 4, rows: 2, channels: 8 };

    fn shapes_of(cases: &[Case]) -> Vec<Conv2dShape> {
        cases.iter().map(|c| Conv2dShape::of(c).unwrap()).collect()
    }

    fn relatives_of(pairs: &[(&str, i64)]) -> [Vec<Conv2dShape>; 2] {
        let relatives = relatives(&Case::from_pairs("conv2d", pairs).unwrap(), TILE).unwrap();
        [shapes_of(&relatives.own), shapes_of(&relatives.shared)]
    }

    #[test]
    fn relatives_cover_what_a_tile_can_get_wrong() {
        for c_in in [1, 3, 7, 8, 13, 48, 256, 2048] {
            let [all, shared] = relatives_of(&[("c_in", c_in), ("c_out", 96), ("h", 16), ("w", 16), ("activation", 1)]);
            assert_eq!((all.len(), shared.len()), (5, 27 + 2));
            for width in [1, 3, 4, 5] {
                assert!(all.iter().any(|s| s.w_out == width), "width {width}");
            }
            for height in [1, 2, 3] {
                assert!(all.iter().any(|s| s.h_out == height), "height {height}");
            }
            assert!(all.iter().any(|s| s.c_in % 4 != 0 && s.c_in % 8 != 0 && s.c_in.abs_diff(c_in as usize) <= 1));
            assert!(all.iter().filter(|s| s.c_in == c_in as usize).count() >= 3);
            assert!(all.iter().all(|s| (13..=27).contains(&s.c_out)));
            for rest in [1, 2, 3, 4, 5, 6] {
                let divisor = if rest < 4 { 4 } else { 8 };
                assert!(all.iter().any(|s| s.c_out % divisor == rest), "{rest} over {divisor}");
            }
            let padded = all.iter().find(|s| s.stride == 2 && s.padding == 1 && s.batch == 2 && s.h_in > 1).unwrap();
            assert!((padded.h_out - 1) * 2 > padded.h_in && (padded.w_out - 1) * 2 > padded.w_in, "behind");
            assert!(all.iter().any(|s| s.stride == 1 && s.padding == 0 && s.batch == 3));
            assert!(all.iter().any(|s| (s.h_in, s.w_in) == (1, 1)));
            assert!(all.iter().any(|s| s.h_in == 1 && s.w_in > 1) && all.iter().any(|s| s.h_in > 1 && s.w_in == 1));
            assert!(all.iter().all(|s| s.activation == crate::ops::case::Activation::Relu));
        }
    }

    #[test]
    fn edges_of_tiles_are_crossed() {
        let [_, shared] = relatives_of(&[("c_in", 48), ("c_out", 96), ("h", 16), ("w", 16)]);
        for c_out in [7, 8, 9] {
            for (h_out, w_out) in [1, 2, 3].into_iter().flat_map(|h| [3, 4, 5].map(|w| (h, w))) {
                let found = shared.iter().filter(|s| (s.c_out, s.h_out, s.w_out) == (c_out, h_out, w_out)).count();
                assert_eq!(found, 1, "{c_out} channels of {h_out}x{w_out}");
            }
        }
        // Nothing is short of a tile of one.
        let case = Case::from_pairs("conv2d", &[("c_in", 48), ("c_out", 96), ("h", 16), ("w", 16)]).unwrap();
        let flat = relatives(&case, Tile { columns: 1, rows: 1, channels: 4 }).unwrap();
        assert_eq!(flat.shared.len(), 2 * 2 * 3 + 2);
        assert!(flat.own.iter().all(|own| !flat.shared.contains(own)));
    }

    #[test]
    fn texels_and_blocks_of_weights_need_more_than_16_bits() {
        let window = [("kernel_h", 3), ("kernel_w", 3)];
        for given in [&[][..], &window, &[("groups", 8)], &[("groups", 64)]] {
            let fields = [&[("c_in", 64), ("c_out", 64), ("h", 9), ("w", 9)], given].concat();
            let case = Case::from_pairs("conv2d", &fields).unwrap();
            let mut large = shapes_of(&relatives(&case, TILE).unwrap().shared);
            large.drain(..large.len() - 2);
            assert_eq!(large.len(), 2, "{given:?}");
            let texels = |s: &Conv2dShape| s.c_out.div_ceil(4) * s.h_out * s.w_out;
            assert!(large[0].c_in.div_ceil(4) * large[0].h_in * large[0].w_in > 1 << 16, "{:?}", large[0]);
            assert!(texels(&large[0]) > 1 << 16 && large[0].n_weight() < 1 << 16, "{:?}", large[0]);
            assert!(large[1].n_weight() > 1 << 18 && texels(&large[1]) < 1 << 16, "{:?}", large[1]);
            for s in large {
                assert!(s.n_output() * s.n_terms() < 1 << 24 && s.operand_bytes() < 8 << 20, "{s:?} is not cheap");
            }
        }
    }

    #[test]
    fn relatives_of_windows_and_groups_are_valid_too() {
        let all = relatives_of(&[
            ("c_in", 12),
            ("c_out", 12),
            ("h", 16),
            ("w", 16),
            ("kernel_h", 3),
            ("kernel_w", 5),
            ("groups", 3),
        ]);
        let all = all.concat();
        assert!(!all.is_empty());
        assert!(all.iter().all(|s| s.kernel_h == 3 && s.groups == 3));
    }

    #[test]
    fn a_case_is_no_probe_of_itself() {
        let case = Case::from_pairs("conv2d", &[("c_in", 48), ("c_out", 20), ("h", 1), ("w", 1)]).unwrap();
        assert_eq!(relatives(&case, TILE).unwrap().own.len(), 4);
    }
}
