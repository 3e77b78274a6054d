//! Who is timed with whom, who is dropped and when to stop: pure functions of samples and rules.
//! Must not know workers, files or the journal.
//!
//! All times enter as natural logarithms of ratios inside one block; comparisons across blocks are
//! comparisons of power states, not of candidates.

use crate::worker::protocol::Block;

/// A candidate this much slower than the leader in every one of [`DROP_MIN_BLOCKS`] blocks is dropped.
pub const DROP_FACTOR: f64 = 1.5;
pub const DROP_MIN_BLOCKS: usize = 4;
/// A block whose canary moved by more than this is redone, [`MAX_REDOS`] times at most.
pub const CANARY_MOVE: f64 = 0.10;
pub const MAX_REDOS: u8 = 2;

/// splitmix64: small, seeded, and the same on every machine.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// A stream that depends on nothing but `key`.
    pub fn new(key: &[u64]) -> Self {
        let mut draw = Draw(0);
        for &part in key {
            draw.0 ^= part;
            draw.0 = draw.next();
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..n`; 128-bit multiply keeps the bias below 2^-32 for any block.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Fisher-Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Divides one round into blocks: every live candidate once, the pivot in each block, at most `block` in each,
/// sizes as equal as they can be, in fresh random order.
pub fn draw_round(live: &[u32], pivot: u32, block: usize, draw: &mut Draw) -> Vec<Vec<u32>> {
    let mut others: Vec<u32> = live.iter().copied().filter(|&c| c != pivot).collect();
    draw.shuffle(&mut others);
    let room = block.saturating_sub(1).max(1);
    let n_blocks = others.len().div_ceil(room);
    let mut blocks = Vec::with_capacity(n_blocks);
    let mut rest = others.as_slice();
    for left in (1..=n_blocks).rev() {
        let (chunk, tail) = rest.split_at(rest.len().div_ceil(left));
        let mut members = chunk.to_vec();
        members.push(pivot);
        draw.shuffle(&mut members);
        blocks.push(members);
        rest = tail;
    }
    blocks
}

/// Whether the machine changed its mood inside the block, or its canary computed nonsense.
pub fn is_disturbed(block: &Block) -> bool {
    let moved = |before: f64, after: f64| {
        let ratio = after / before;
        // Written so that a NaN counts as disturbed.
        !(1.0 / (1.0 + CANARY_MOVE)..=1.0 + CANARY_MOVE).contains(&ratio)
    };
    !block.canary_ok || (0..2).any(|k| moved(block.canary_before_ns[k], block.canary_after_ns[k]))
}

/// Early drop: at least [`DROP_FACTOR`] slower than the leader in each of at least [`DROP_MIN_BLOCKS`] blocks.
/// `log_ratios` are the candidate's against the pivot, one a block; `leader` is the leader's estimate against the same pivot.
pub fn is_hopeless(log_ratios: &[f64], leader: f64) -> bool {
    log_ratios.len() >= DROP_MIN_BLOCKS && log_ratios.iter().all(|&r| r - leader >= DROP_FACTOR.ln())
}

/// One live candidate's standing: log of its ratio to the pivot, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub candidate: u32,
    pub log_ratio: f64,
    pub log_lo: f64,
    pub log_hi: f64,
    /// False for a candidate whose samples came with doubts.
    pub may_win: bool,
}

/// The best standing that may win; the first of equals.
pub fn leader(standings: &[Standing]) -> Option<&Standing> {
    standings.iter().filter(|s| s.may_win).min_by(|a, b| a.log_ratio.total_cmp(&b.log_ratio))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopReason {
    /// The leader's interval is as narrow as the rules ask.
    Narrow,
    /// Everyone else lies beyond the tie threshold, interval included.
    Separated,
    MaxRounds,
    /// Nobody is left to compare with.
    Alone,
}

/// Whether a race of `rounds` complete rounds may end. `standings` holds the pivot too (ratio 1, no width).
pub fn stop(
    standings: &[Standing],
    pivot: u32,
    rounds: u32,
    rules: &crate::worker::bundle::Rules,
) -> Option<StopReason> {
    let Some(best) = leader(standings) else {
        return (rounds >= rules.max_rounds).then_some(StopReason::MaxRounds);
    };
    if standings.len() < 2 {
        return Some(StopReason::Alone);
    }
    if rounds < rules.min_rounds {
        return None;
    }
    // Against itself the pivot has no width: where it leads, its closest rival must be known well.
    let rival = if best.candidate == pivot {
        standings.iter().filter(|s| s.candidate != pivot).min_by(|a, b| a.log_ratio.total_cmp(&b.log_ratio))
    } else {
        Some(best)
    };
    if rival.is_some_and(|r| (r.log_hi - r.log_lo).exp() - 1.0 < rules.interval) {
        return Some(StopReason::Narrow);
    }
    let tie = rules.tie.ln_1p();
    let beyond = |s: &Standing| s.candidate == best.candidate || s.log_lo - best.log_hi > tie;
    if standings.iter().all(beyond) {
        return Some(StopReason::Separated);
    }
    (rounds >= rules.max_rounds).then_some(StopReason::MaxRounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::bundle::Rules;

    fn rules() -> Rules {
        Rules {
            min_rounds: 5,
            max_rounds: 10,
            block: 32,
            sample_ns: 1_000_000,
            within: 2.0,
            interval: 0.02,
            wall_s: None,
            tie: 0.03,
            replays: 4,
            finalist_replays: 60,
            max_finalists: 4,
        }
    }

    fn standing(candidate: u32, ratio: f64, width: f64) -> Standing {
        let log_ratio = ratio.ln();
        Standing {
            candidate,
            log_ratio,
            log_lo: log_ratio - width / 2.0,
            log_hi: log_ratio + width / 2.0,
            may_win: true,
        }
    }

    #[test]
    fn a_round_times_everyone_once_and_the_pivot_in_every_block() {
        let live: Vec<u32> = (0..100).collect();
        let blocks = draw_round(&live, 7, 32, &mut Draw::new(&[1, 2, 3]));
        assert_eq!(blocks.len(), 4);
        let mut others: Vec<u32> = blocks.iter().flatten().copied().filter(|&c| c != 7).collect();
        others.sort_unstable();
        assert_eq!(others, live.iter().copied().filter(|&c| c != 7).collect::<Vec<_>>());
        for block in &blocks {
            assert!(block.len() <= 32, "{}", block.len());
            assert_eq!(block.iter().filter(|&&c| c == 7).count(), 1);
        }
        // 99 others over 4 blocks: 25, 25, 25, 24, not 31, 31, 31, 6.
        assert!(blocks.iter().all(|b| b.len() >= 25), "{blocks:?}");
    }

    #[test]
    fn orders_differ_between_rounds_and_repeat_with_the_seed() {
        let live: Vec<u32> = (0..20).collect();
        let round = |n| draw_round(&live, 0, 32, &mut Draw::new(&[5, n]));
        assert_eq!(round(1), round(1));
        assert_ne!(round(1), round(2));
    }

    #[test]
    fn a_lone_pivot_needs_no_block() {
        assert!(draw_round(&[3], 3, 32, &mut Draw::new(&[0])).is_empty());
    }

    #[test]
    fn shuffles_are_uniform_in_the_first_place() {
        let mut counts = [0u32; 8];
        for seed in 0..8_000 {
            let mut items: Vec<usize> = (0..8).collect();
            Draw::new(&[seed]).shuffle(&mut items);
            counts[items[0]] += 1;
        }
        // 1000 expected, standard deviation 30.
        assert!(counts.iter().all(|&n| (850..1150).contains(&n)), "{counts:?}");
    }

    #[test]
    fn one_good_block_saves_a_candidate_from_the_drop() {
        let slow = 1.6f64.ln();
        assert!(is_hopeless(&[slow; 4], 0.0));
        assert!(!is_hopeless(&[slow; 3], 0.0), "three blocks are too few");
        assert!(!is_hopeless(&[slow, slow, slow, 1.4f64.ln(), slow], 0.0));
        // The same candidate against a leader that is slower than the pivot.
        assert!(!is_hopeless(&[slow; 4], 1.2f64.ln()));
    }

    #[test]
    fn a_moved_canary_disturbs_and_so_does_nan() {
        let block = |after: f64, ok| Block {
            case: 0,
            block: 0,
            canary_before_ns: [100.0, 200.0],
            canary_after_ns: [100.0, after],
            canary_ok: ok,
            samples: vec![],
        };
        assert!(!is_disturbed(&block(219.0, true)));
        assert!(is_disturbed(&block(221.0, true)));
        assert!(is_disturbed(&block(181.0, true)));
        assert!(is_disturbed(&block(f64::NAN, true)));
        assert!(is_disturbed(&block(200.0, false)));
    }

    #[test]
    fn races_stop_for_the_right_reason() {
        let pivot = Standing { candidate: 0, log_ratio: 0.0, log_lo: 0.0, log_hi: 0.0, may_win: true };
        let wide = [pivot, standing(1, 0.8, 0.1), standing(2, 0.82, 0.1)];
        assert_eq!(stop(&wide, 0, 5, &rules()), None);
        assert_eq!(stop(&wide, 0, 10, &rules()), Some(StopReason::MaxRounds));
        let narrow = [pivot, standing(1, 0.8, 0.01), standing(2, 0.82, 0.1)];
        assert_eq!(stop(&narrow, 0, 4, &rules()), None, "fewer than the minimum");
        assert_eq!(stop(&narrow, 0, 5, &rules()), Some(StopReason::Narrow));
        let apart = [pivot, standing(1, 0.5, 0.1), standing(2, 0.8, 0.1)];
        assert_eq!(stop(&apart, 0, 5, &rules()), Some(StopReason::Separated));
        assert_eq!(stop(&[pivot], 0, 0, &rules()), Some(StopReason::Alone));
        // The pivot leads; its rival is not known well, so its own zero width must not end the race.
        let leading = [pivot, standing(1, 1.02, 0.2)];
        assert_eq!(stop(&leading, 0, 5, &rules()), None);
    }

    #[test]
    fn a_doubtful_candidate_cannot_lead() {
        let mut fast = standing(1, 0.1, 0.01);
        fast.may_win = false;
        let standings = [standing(0, 1.0, 0.0), fast];
        assert_eq!(leader(&standings).map(|s| s.candidate), Some(0));
    }
}
