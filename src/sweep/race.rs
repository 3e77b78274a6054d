//! One race: the rounds of one case and given class, from the probes to the holdout. A state machine
//! without a clock or a worker: blocks and deaths come in, the next block comes out.

use std::collections::HashMap;

use super::schedule::{self, Draw, Standing, StopReason};
use crate::stats::{self, Comparison, Level};
use crate::worker::bundle::Rules;
use crate::worker::protocol::{Block, Left, MAX_BATCH};

/// The level of every interval that a row carries or a stop rule reads.
pub const LEVEL: Level = Level::P99;

/// A block that counts.
#[derive(Debug, Clone)]
pub struct KeptBlock {
    /// Its canary moved, as it did in those that this one is the repetition of: see [`Race::pairs`].
    pub is_disturbed: bool,
    /// Canary times of the block, `[arithmetic, bandwidth]`: geometric mean of before and after.
    pub canary_ns: [f32; 2],
    /// Candidate and nanoseconds per dispatch, in the order of execution.
    pub samples: Vec<(u32, f32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Rounds,
    Holdout,
    Done,
}

#[derive(Debug)]
pub struct Race {
    /// The candidate in every block, that all ratios are against: the incumbent where it was admitted.
    pub pivot: u32,
    reference: u32,
    /// Everyone who might have raced, also those too slow in their probe.
    pub entrants: Vec<u32>,
    /// Still timed in every round, the pivot among them.
    pub live: Vec<u32>,
    pub rounds: u32,
    pub blocks: Vec<KeptBlock>,
    pub holdout: Vec<KeptBlock>,
    pub phase: Phase,
    /// Where the rounds or the holdout do not tell the leader from the pivot, the pivot.
    pub winner: Option<u32>,
    /// Who met the pivot in the holdout.
    pub contender: Option<u32>,
    pub stop: Option<StopReason>,
    pub n_redone: u32,
    /// The shortest probe of those that race, nanoseconds of one dispatch.
    fastest_ns: f64,
    doubted: Vec<u32>,
    /// The rest of the round; the last one is next.
    pending: Vec<Vec<u32>>,
    redos: u8,
    /// A suspect whose block killed the worker, to be run by itself.
    alone: Option<Vec<u32>>,
    key: [u64; 3],
    n_draws: u64,
}

impl Race {
    /// `probes` are the admitted candidates with their probe times. Those within `rules.within` of the best race;
    /// the pivot and the reference always do.
    pub fn start(probes: &[(u32, f64)], incumbent: u32, reference: u32, rules: &Rules, key: [u64; 3]) -> Race {
        let best = probes.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let fastest = probes.iter().find(|p| p.1 == best).map(|p| p.0);
        let is_admitted = |candidate: u32| probes.iter().any(|p| p.0 == candidate);
        let pivot = if is_admitted(incumbent) { incumbent } else { fastest.unwrap_or(incumbent) };
        let races = |p: &&(u32, f64)| p.1 <= rules.within * best || p.0 == pivot || p.0 == reference;
        let live: Vec<u32> = probes.iter().filter(races).map(|p| p.0).collect();
        let mut race = Race {
            pivot,
            reference,
            entrants: probes.iter().map(|p| p.0).collect(),
            live,
            rounds: 0,
            blocks: Vec::new(),
            holdout: Vec::new(),
            phase: Phase::Rounds,
            winner: None,
            contender: None,
            stop: None,
            n_redone: 0,
            fastest_ns: best,
            doubted: Vec::new(),
            pending: Vec::new(),
            redos: 0,
            alone: None,
            key,
            n_draws: 0,
        };
        if race.live.is_empty() {
            race.phase = Phase::Done;
        } else {
            race.next_round(rules);
        }
        race
    }

    /// What to time next; `None` when the race is over.
    pub fn next_block(&self) -> Option<&[u32]> {
        self.alone.as_ref().or(self.pending.last()).map(Vec::as_slice)
    }

    /// Dispatches in each sample, so that the fastest takes `aim_ns`: the same for all blocks, also after a worker died.
    pub fn batch(&self, aim_ns: f64) -> u32 {
        ((aim_ns / self.fastest_ns.max(1.0)).ceil() as u32).clamp(1, MAX_BATCH)
    }

    /// Takes a block in and moves on; gives back the candidates whose output was wrong.
    pub fn block(&mut self, block: &Block, rules: &Rules) -> Vec<u32> {
        let liars: Vec<u32> =
            block.samples.iter().filter(|s| s.left != Left::Same).map(|s| s.candidate as u32).collect();
        if self.alone.take().is_some() {
            // It survived by itself: its block is run again.
            self.live.retain(|c| !liars.contains(c));
            self.settle(rules);
            return liars;
        }
        let is_disturbed = schedule::is_disturbed(block);
        if is_disturbed && self.redos < schedule::MAX_REDOS && liars.is_empty() {
            self.redos += 1;
            self.n_redone += 1;
            self.reorder();
            return liars;
        }
        self.redos = 0;
        let canary = |k: usize| (block.canary_before_ns[k] * block.canary_after_ns[k]).sqrt() as f32;
        let sane = |time_ns: f64| time_ns.is_finite() && time_ns > 0.0;
        let samples = block.samples.iter().filter(|s| s.left == Left::Same && sane(s.time_ns));
        let kept = KeptBlock {
            is_disturbed,
            canary_ns: [canary(0), canary(1)],
            samples: samples.map(|s| (s.candidate as u32, s.time_ns as f32)).collect(),
        };
        for sample in block.samples.iter().filter(|s| s.doubt.is_some()) {
            let candidate = sample.candidate as u32;
            if !self.doubted.contains(&candidate) {
                self.doubted.push(candidate);
            }
        }
        self.pending.pop();
        match self.phase {
            Phase::Holdout => self.holdout.push(kept),
            _ => self.blocks.push(kept),
        }
        self.live.retain(|c| !liars.contains(c));
        self.settle(rules);
        liars
    }

    /// The worker died with `candidate` in flight for the first time: it runs alone next, before its block is repeated.
    pub fn suspect(&mut self, candidate: u32) {
        self.alone = Some(vec![candidate]);
        self.reorder();
    }

    /// Takes a candidate out of the race for good.
    pub fn remove(&mut self, candidate: u32, rules: &Rules) {
        self.alone = None;
        self.live.retain(|&c| c != candidate);
        self.settle(rules);
    }

    /// Nothing more can be timed: what is not decided stays so.
    pub fn close(&mut self) {
        if self.phase != Phase::Done {
            self.winner = None;
            self.contender = None;
            self.phase = Phase::Done;
        }
        self.pending.clear();
        self.alone = None;
    }

    /// Brings the rest of the round in line with who is live, and goes on when nothing is left of it.
    fn settle(&mut self, rules: &Rules) {
        if self.phase == Phase::Done {
            return;
        }
        if !self.live.contains(&self.pivot) {
            return self.repivot(rules);
        }
        if self.phase == Phase::Holdout && self.contender.is_none_or(|c| !self.live.contains(&c)) {
            return self.finish_rounds(rules);
        }
        // A block of the pivot alone compares nothing, except where nobody else is left.
        let min_len = if self.live.len() == 1 { 1 } else { 2 };
        let live = &self.live;
        self.pending.iter_mut().for_each(|block| block.retain(|c| live.contains(c)));
        self.pending.retain(|block| block.len() >= min_len);
        if self.pending.is_empty() {
            self.end_of_round(rules);
        }
    }

    /// Without its pivot nothing that was measured can be compared: the race starts over among the others.
    fn repivot(&mut self, rules: &Rules) {
        self.blocks.clear();
        self.holdout.clear();
        self.pending.clear();
        self.winner = None;
        self.contender = None;
        self.rounds = 0;
        self.redos = 0;
        match self.live.first() {
            Some(&first) => {
                self.pivot = if self.live.contains(&self.reference) { self.reference } else { first };
                self.phase = Phase::Rounds;
                self.next_round(rules);
            }
            None => self.phase = Phase::Done,
        }
    }

    fn draw(&mut self) -> Draw {
        self.n_draws += 1;
        Draw::new(&[self.key[0], self.key[1], self.key[2], self.n_draws])
    }

    fn reorder(&mut self) {
        let mut draw = self.draw();
        if let Some(block) = self.pending.last_mut() {
            draw.shuffle(block);
        }
    }

    fn next_round(&mut self, rules: &Rules) {
        let mut draw = self.draw();
        self.pending = schedule::draw_round(&self.live, self.pivot, rules.block as usize, &mut draw);
        if self.pending.is_empty() {
            self.stop = Some(StopReason::Alone);
            // A lone candidate still needs a time: it runs its minimum of rounds by itself.
            if self.rounds < rules.min_rounds {
                self.pending = vec![vec![self.pivot]];
            } else {
                self.finish_rounds(rules);
            }
        }
    }

    fn end_of_round(&mut self, rules: &Rules) {
        if self.phase == Phase::Holdout {
            self.phase = Phase::Done;
            self.winner = if self.is_undecided(rules) { Some(self.pivot) } else { self.contender };
            return;
        }
        self.rounds += 1;
        let pairs = self.pairs();
        let standings = self.standings_of(&pairs);
        if let Some(best) = schedule::leader(&standings).copied() {
            let keep = |&c: &u32| {
                let log_ratios = pairs.get(&c).map(|p| p.log_ratios()).unwrap_or_default();
                c == self.pivot
                    || c == self.reference
                    || c == best.candidate
                    || !schedule::is_hopeless(&log_ratios, best.log_ratio)
            };
            self.live = self.live.iter().copied().filter(keep).collect();
        }
        let standings: Vec<Standing> = standings.into_iter().filter(|s| self.live.contains(&s.candidate)).collect();
        match schedule::stop(&standings, self.pivot, self.rounds, rules) {
            Some(StopReason::Alone) if self.rounds < rules.min_rounds => self.next_round(rules),
            Some(reason) => {
                self.stop = Some(reason);
                self.finish_rounds(rules);
            }
            None => self.next_round(rules),
        }
    }

    /// Names the leader; it and the pivot then meet in fresh blocks, since its own samples flatter it.
    fn finish_rounds(&mut self, rules: &Rules) {
        self.holdout.clear();
        self.pending.clear();
        self.contender = None;
        let standings: Vec<Standing> =
            self.standings().into_iter().filter(|s| self.live.contains(&s.candidate)).collect();
        self.winner = self.pick(&standings, rules);
        match self.winner {
            Some(leader) if leader != self.pivot => {
                self.contender = self.winner;
                self.phase = Phase::Holdout;
                let mut draw = self.draw();
                for _ in 0..rules.min_rounds.max(stats::min_pairs(LEVEL) as u32) {
                    let mut pair = vec![leader, self.pivot];
                    draw.shuffle(&mut pair);
                    self.pending.push(pair);
                }
            }
            _ => self.phase = Phase::Done,
        }
    }

    /// The best of these; the pivot where it is among them and not beyond a tie from the best.
    pub fn pick(&self, standings: &[Standing], rules: &Rules) -> Option<u32> {
        let leader = schedule::leader(standings);
        let stays = |pivot: &&Standing| {
            pivot.candidate == self.pivot && pivot.may_win && leader.is_some_and(|l| l.log_ratio >= -rules.tie.ln_1p())
        };
        standings.iter().find(stays).or(leader).map(|s| s.candidate)
    }

    /// The holdout does not show its contender to be faster than the pivot, beyond a tie: then noise would choose.
    pub fn is_undecided(&self, rules: &Rules) -> bool {
        let pivot_may_win = self.live.contains(&self.pivot) && !self.doubted.contains(&self.pivot);
        let is_faster = |c: Comparison| c.hi.is_some_and(|hi| hi < 1.0) && c.ratio * (1.0 + rules.tie) < 1.0;
        self.contender.is_some() && pivot_may_win && !self.holdout_ratio().is_some_and(is_faster)
    }

    /// Samples of every candidate with the pivot's of the same block. A candidate's samples of disturbed blocks are left out
    /// once it has enough others for an interval: on a busy machine a race must come to an end all the same.
    pub fn pairs(&self) -> HashMap<u32, Pairs> {
        pair_up(&self.blocks, self.pivot)
    }

    /// Blocks that count although their canary moved.
    pub fn n_disturbed(&self) -> usize {
        self.blocks.iter().chain(&self.holdout).filter(|block| block.is_disturbed).count()
    }

    /// Where everyone stands that was ever timed, dropped ones included, in order of candidate.
    pub fn standings(&self) -> Vec<Standing> {
        self.standings_of(&self.pairs())
    }

    fn standings_of(&self, pairs: &HashMap<u32, Pairs>) -> Vec<Standing> {
        let standing = |(&candidate, pairs): (&u32, &Pairs)| {
            let may_win = !self.doubted.contains(&candidate);
            if candidate == self.pivot {
                return Some(Standing { candidate, log_ratio: 0.0, log_lo: 0.0, log_hi: 0.0, may_win });
            }
            let comparison = pairs.compare()?;
            let log_lo = comparison.lo.map_or(f64::NEG_INFINITY, f64::ln);
            let log_hi = comparison.hi.map_or(f64::INFINITY, f64::ln);
            Some(Standing { candidate, log_ratio: comparison.ratio.ln(), log_lo, log_hi, may_win })
        };
        let mut standings: Vec<Standing> = pairs.iter().filter_map(standing).collect();
        standings.sort_by_key(|s| s.candidate);
        standings
    }

    /// The contender against the pivot in fresh blocks.
    pub fn holdout_ratio(&self) -> Option<Comparison> {
        let contender = self.contender?;
        pair_up(&self.holdout, self.pivot).get(&contender)?.compare()
    }
}

/// One candidate's samples, each with the pivot's and the canary of its block.
#[derive(Debug, Default, Clone)]
pub struct Pairs {
    pub times_ns: Vec<f64>,
    pub pivot_ns: Vec<f64>,
    /// One number for the machine's mood: the geometric mean of both canaries.
    pub canary_ns: Vec<f64>,
}

impl Pairs {
    pub fn log_ratios(&self) -> Vec<f64> {
        self.times_ns.iter().zip(&self.pivot_ns).map(|(t, p)| (t / p).ln()).collect()
    }

    pub fn compare(&self) -> Option<Comparison> {
        stats::compare(&self.times_ns, &self.pivot_ns, LEVEL)
    }
}

fn pair_up(blocks: &[KeptBlock], pivot: u32) -> HashMap<u32, Pairs> {
    let mut pairs = pair_all(blocks.iter(), pivot);
    if blocks.iter().any(|block| block.is_disturbed) {
        let undisturbed = pair_all(blocks.iter().filter(|block| !block.is_disturbed), pivot);
        pairs.extend(undisturbed.into_iter().filter(|(_, pairs)| pairs.times_ns.len() >= stats::min_pairs(LEVEL)));
    }
    pairs
}

fn pair_all<'a>(blocks: impl Iterator<Item = &'a KeptBlock>, pivot: u32) -> HashMap<u32, Pairs> {
    let mut pairs: HashMap<u32, Pairs> = HashMap::new();
    for block in blocks {
        let Some(&(_, pivot_ns)) = block.samples.iter().find(|s| s.0 == pivot) else { continue };
        for &(candidate, time_ns) in &block.samples {
            let entry = pairs.entry(candidate).or_default();
            entry.times_ns.push(f64::from(time_ns));
            entry.pivot_ns.push(f64::from(pivot_ns));
            entry.canary_ns.push((f64::from(block.canary_ns[0]) * f64::from(block.canary_ns[1])).sqrt());
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::protocol::Sample;

    fn rules() -> Rules {
        Rules {
            min_rounds: 5,
            max_rounds: 12,
            block: 8,
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

    fn block_of(members: &[u32], time: &impl Fn(u32) -> f64) -> Block {
        let sample =
            |&c: &u32| Sample { candidate: c as usize, time_ns: time(c), batch: 10, left: Left::Same, doubt: None };
        Block {
            case: 0,
            block: 0,
            canary_before_ns: [10.0, 20.0],
            canary_after_ns: [10.0, 20.0],
            canary_ok: true,
            samples: members.iter().map(sample).collect(),
        }
    }

    /// Candidate 0 is the reference at 100 ns, candidate `c` takes `100 + 10 c`, candidate 3 only 50.
    fn time(c: u32) -> f64 {
        if c == 3 { 50.0 } else { 100.0 + 10.0 * f64::from(c) }
    }

    fn start(n: u32) -> Race {
        let probes: Vec<(u32, f64)> = (0..n).map(|c| (c, time(c))).collect();
        Race::start(&probes, 0, 0, &Rules { within: 4.0, ..rules() }, [1, 2, 3])
    }

    fn run(race: &mut Race, time: impl Fn(u32) -> f64) -> u32 {
        let mut n_blocks = 0;
        while let Some(members) = race.next_block() {
            let block = block_of(members, &time);
            race.block(&block, &rules());
            n_blocks += 1;
            assert!(n_blocks < 10_000, "the race does not end");
        }
        n_blocks
    }

    #[test]
    fn the_fastest_wins_and_is_held_out() {
        let mut race = start(20);
        run(&mut race, time);
        assert_eq!((race.winner, race.phase), (Some(3), Phase::Done));
        let holdout = race.holdout_ratio().unwrap();
        assert!((holdout.ratio - 0.5).abs() < 1e-6, "{holdout:?}");
        assert!(holdout.lo.is_some(), "the holdout is long enough for an interval");
    }

    #[test]
    fn every_live_candidate_gets_the_same_number_of_rounds() {
        let mut race = start(20);
        run(&mut race, time);
        let pairs = race.pairs();
        let counts: Vec<usize> = race.live.iter().filter(|&&c| c != 0).map(|c| pairs[c].times_ns.len()).collect();
        assert!(counts.iter().all(|&n| n == race.rounds as usize), "{counts:?}");
    }

    #[test]
    fn the_hopeless_are_dropped_but_never_the_reference() {
        // 3 takes half of the reference's time, so the reference itself is 2x slower than the leader.
        let mut race = start(20);
        run(&mut race, time);
        assert!(race.live.contains(&0) && race.live.contains(&3), "{:?}", race.live);
        assert!(!race.live.contains(&10), "{:?}", race.live);
        assert_eq!(race.pairs()[&10].times_ns.len(), schedule::DROP_MIN_BLOCKS);
    }

    #[test]
    fn candidates_far_behind_in_their_probe_do_not_race() {
        let probes = [(0, 900.0), (1, 100.0), (2, 199.0), (3, 201.0)];
        let race = Race::start(&probes, 0, 0, &rules(), [0; 3]);
        assert_eq!(race.live, [0, 1, 2], "the reference always races");
    }

    #[test]
    fn a_liar_leaves_the_race_even_when_it_is_fastest() {
        let mut race = start(6);
        let members = race.next_block().unwrap().to_vec();
        let mut block = block_of(&members, &time);
        block.samples.iter_mut().filter(|s| s.candidate == 3).for_each(|s| s.left = Left::Wrong);
        assert_eq!(race.block(&block, &rules()), [3]);
        run(&mut race, time);
        assert_eq!(race.winner, Some(0));
        assert!(!race.live.contains(&3) && !race.pairs().contains_key(&3));
    }

    #[test]
    fn losing_the_pivot_starts_over_with_another() {
        let mut race = start(6);
        let members = race.next_block().unwrap().to_vec();
        race.block(&block_of(&members, &time), &rules());
        race.remove(0, &rules());
        assert_eq!((race.pivot, race.rounds, race.blocks.len()), (1, 0, 0));
        run(&mut race, time);
        assert_eq!(race.winner, Some(3));
    }

    #[test]
    fn a_suspect_runs_alone_before_its_block_is_repeated() {
        let mut race = start(6);
        let members = race.next_block().unwrap().to_vec();
        race.suspect(3);
        assert_eq!(race.next_block(), Some([3].as_slice()));
        race.block(&block_of(&[3], &time), &rules());
        let mut again = race.next_block().unwrap().to_vec();
        again.sort_unstable();
        let mut before = members;
        before.sort_unstable();
        assert_eq!(again, before);
        assert!(race.blocks.is_empty(), "a block without the pivot is no evidence");
    }

    #[test]
    fn a_disturbed_block_is_redone_twice_and_then_kept() {
        let mut race = start(6);
        for n_kept in [0, 0, 1] {
            let members = race.next_block().unwrap().to_vec();
            let mut block = block_of(&members, &time);
            block.canary_after_ns = [20.0, 40.0];
            race.block(&block, &rules());
            assert_eq!(race.blocks.len(), n_kept);
        }
        assert!(race.blocks[0].is_disturbed);
        assert_eq!(race.n_redone, 2);
    }

    /// A block in which everything but the pivot takes half of its time.
    fn disturbed(members: &[u32]) -> Block {
        let mut block = block_of(members, &|c| if c == 0 { 100.0 } else { time(c) / 2.0 });
        block.canary_after_ns = [20.0, 40.0];
        block
    }

    #[test]
    fn disturbed_blocks_count_only_while_there_are_too_few_others() {
        let enough = stats::min_pairs(LEVEL);
        let mut race = start(6);
        let rules = Rules { min_rounds: 40, max_rounds: 40, ..rules() };
        let mut n_undisturbed = 0;
        while n_undisturbed < enough {
            let members = race.next_block().unwrap().to_vec();
            for _ in 0..=schedule::MAX_REDOS {
                race.block(&disturbed(&members), &rules);
            }
            let ratios = race.pairs()[&3].log_ratios();
            assert_eq!(ratios.len(), 2 * n_undisturbed + 1, "too few undisturbed ones");
            let members = race.next_block().unwrap().to_vec();
            race.block(&block_of(&members, &time), &rules);
            n_undisturbed += 1;
        }
        let ratios = race.pairs()[&3].log_ratios();
        assert_eq!(ratios.len(), enough);
        assert!(ratios.iter().all(|r| (r.exp() - 0.5).abs() < 1e-6), "{ratios:?}");
        assert_eq!(race.n_disturbed(), enough);
    }

    #[test]
    fn a_race_on_a_machine_that_never_rests_ends_with_what_it_has() {
        let mut race = start(6);
        let mut n_blocks = 0;
        while let Some(members) = race.next_block() {
            let mut block = block_of(members, &time);
            block.canary_after_ns = [20.0, 40.0];
            race.block(&block, &rules());
            n_blocks += 1;
            assert!(n_blocks < 10_000, "the race does not end");
        }
        assert_eq!(race.winner, Some(3));
        assert_eq!(race.n_disturbed(), race.blocks.len() + race.holdout.len());
    }

    #[test]
    fn a_lone_candidate_is_timed_and_wins_without_a_holdout() {
        let mut race = Race::start(&[(4, 10.0)], 0, 0, &rules(), [0; 3]);
        assert_eq!(run(&mut race, |_| 10.0), 5);
        assert_eq!((race.winner, race.phase, race.stop), (Some(4), Phase::Done, Some(StopReason::Alone)));
    }

    #[test]
    fn everyone_dying_ends_the_race_without_a_winner() {
        let mut race = start(3);
        for c in [1, 0, 2] {
            race.remove(c, &rules());
        }
        assert_eq!((race.phase, race.winner, race.next_block()), (Phase::Done, None, None));
    }

    #[test]
    fn a_leader_that_the_holdout_does_not_confirm_leaves_the_pivot_in_place() {
        let mut race = start(6);
        while race.phase == Phase::Rounds {
            let members = race.next_block().unwrap().to_vec();
            race.block(&block_of(&members, &time), &rules());
        }
        assert!(race.is_undecided(&rules()), "nothing is decided before the holdout");
        run(&mut race, |_| 100.0);
        assert_eq!((race.winner, race.contender, race.phase), (Some(0), Some(3), Phase::Done));
        assert!(race.is_undecided(&rules()));
    }

    #[test]
    fn within_the_tie_the_pivot_wins_without_a_holdout() {
        let nearly = |c: u32| if c == 3 { 98.0 } else { 100.0 + 10.0 * f64::from(c) };
        let mut race = start(6);
        run(&mut race, nearly);
        assert_eq!((race.winner, race.contender), (Some(0), None));
        let mut race = start(6);
        race.doubted.push(0);
        run(&mut race, nearly);
        assert_eq!((race.winner, race.contender), (Some(3), Some(3)), "what is doubted does not stay");
    }

    #[test]
    fn a_winner_that_lies_in_the_holdout_is_replaced() {
        let mut race = start(6);
        while race.phase == Phase::Rounds {
            let members = race.next_block().unwrap().to_vec();
            race.block(&block_of(&members, &time), &rules());
        }
        assert_eq!(race.winner, Some(3));
        race.remove(3, &rules());
        run(&mut race, time);
        assert_eq!(race.winner, Some(0));
    }
}
