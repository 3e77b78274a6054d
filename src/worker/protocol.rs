//! The line protocol between the sweep and a worker: orders in on stdin, events out on stdout, one
//! JSON object a line. The fake device speaks the same protocol.

use serde::{Deserialize, Serialize};

use crate::gpu::Capabilities;
use crate::verify::Verdict;
use crate::verify::replays::ArmCount;

/// Raised whenever an order or an event changes its meaning.
pub const PROTOCOL_VERSION: u32 = 4;

/// What the sweep asks of a worker. Candidates and cases are indices into the bundle's manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Verify each candidate on the case: families, poison, guards, probes. One `begin` and one `verified` each, then `done`.
    Verify {
        case: usize,
        candidates: Vec<usize>,
        /// Will be asked for next: their pipelines may be made while these run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ahead: Vec<usize>,
    },
    /// One timed block in exactly this order, between two canaries. `begin` before each, one `block`, then `done`. Those
    /// that this worker never ran begin once before, to be warmed up.
    Time {
        case: usize,
        block: u64,
        candidates: Vec<usize>,
        sample_ns: u64,
        /// Dispatches in one sample, the same in all blocks of a race, whichever worker runs them. 0: as `sample_ns` says.
        #[serde(default)]
        batch: u32,
    },
    /// Replay one candidate with alternating operands and fresh poison. `begin`, `replayed`, `done`.
    Replay {
        case: usize,
        candidate: usize,
        replays: u32,
    },
    /// Replay one chain, its two operand sets in turn. `begin` now and then, one `chained`, then `done`.
    Chain {
        chain: usize,
        replays: u32,
    },
    /// Replay one candidate in one of the ways that [`Way`] names, rounded up to whole command buffers. `begin` before each
    /// submission, one `triaged`, then `done`.
    Triage {
        case: usize,
        candidate: usize,
        way: Way,
        replays: u32,
    },
    Quit,
}

/// How replays are brought about: each way differs from `recorded` in one thing that may be to blame for outputs that vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// One command buffer, recorded once and submitted again and again: as an application does.
    Recorded,
    /// The same with a barrier of all stages and all accesses before every dispatch.
    FullBarriers,
    /// Each tensor in an allocation made for it alone (`VkMemoryDedicatedAllocateInfo`).
    DedicatedMemory,
    /// All tensors in one allocation.
    OneAllocation,
    /// Each dispatch in a submission of its own, waited for.
    OneDispatch,
    /// The command buffer recorded anew before each submission.
    Rerecorded,
    /// The same, and each dispatch with a descriptor set that is made for it, from a pool that is made for the submission.
    FreshSets,
}

/// Dispatches in one sample at most.
pub const MAX_BATCH: u32 = 4096;

/// What a worker reports. Every order ends with `done`, or the worker is dead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// First line of a worker: who it is. `timer` is `timestamp` or `host`.
    Hello {
        protocol: u32,
        device: Box<Capabilities>,
        timer: String,
        tick_ns: f64,
    },
    /// The candidate is in flight from here; if the worker dies now, this was the suspect.
    /// `candidate` is `None` while the worker prepares operands or runs the canary.
    Begin {
        case: usize,
        candidate: Option<usize>,
    },
    Verified(Box<Verified>),
    Block(Block),
    Replayed(Replayed),
    Chained(Box<Chained>),
    Triaged(Triaged),
    /// The order is complete. Times are host-measured nanoseconds spent in it.
    Done {
        device_ns: u64,
        compile_ns: u64,
        wall_ns: u64,
    },
    /// The worker cannot go on; a person reads `message`. `kind` is an exit-code name: `no_device`, `system`,
    /// `device_failed`; `validation` where the validation layer objects.
    Fatal {
        kind: String,
        message: String,
    },
}

/// The outcome of verifying one candidate on one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    pub case: usize,
    pub candidate: usize,
    pub verdict: Verdict,
    /// Canonical hash of the I1 output (operand set A), 16 hex digits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub i1_hash: Option<String>,
    /// A first estimate of one dispatch, from a short timed batch after a warm-up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probe_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub err_over_bound: Option<f64>,
    /// Pipeline creation plus the first dispatch's excess.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub registers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spills: Option<u32>,
    /// How many outputs were hashed and judged.
    #[serde(default)]
    pub checks: u32,
}

/// One timed block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub case: usize,
    pub block: u64,
    /// Canary times before and after: `[arithmetic, bandwidth]`, nanoseconds.
    pub canary_before_ns: [f64; 2],
    pub canary_after_ns: [f64; 2],
    /// Whether both canaries computed the right integers.
    pub canary_ok: bool,
    pub samples: Vec<Sample>,
}

/// What stands in the output after a batch, compared with what the same candidate left when it was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    Same,
    /// Another than a run of the same operands left before; as far as is known, as right as that.
    Other,
    Wrong,
}

/// One timing of one candidate: `batch` dispatches with barriers between two timestamps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub candidate: usize,
    /// Nanoseconds per dispatch.
    pub time_ns: f64,
    pub batch: u32,
    /// What the batch left in the output. All but [`Left::Same`] condemn the candidate.
    pub left: Left,
    /// `Some` when the time itself cannot be trusted (zero, too few ticks, a capped batch).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub doubt: Option<String>,
}

/// The outcome of replaying one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    pub case: usize,
    pub candidate: usize,
    pub replays: u32,
    /// Distinct raw-word hashes, of the operand set that has most of them.
    pub distinct: u32,
    /// Replays that differ from the most frequent output.
    pub deviating: u32,
    /// Of each deviating output its largest difference from the most frequent one, in an element; of those the median and the
    /// largest. None where no output deviated again while it was watched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deviation_median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deviation_max: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub arms: Vec<ArmCount>,
    pub verdict: Verdict,
}

/// The outcome of replaying one chain for one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chained {
    pub chain: usize,
    pub replays: u32,
    /// Distinct outputs less one, summed over the operand sets.
    pub excess_distinct: u32,
    /// Replays whose last output differs from the most frequent one of their set.
    pub deviating: u32,
    /// The same of every link's output, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deviating_by_link: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deviation_median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deviation_max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub err_over_bound: Option<f64>,
    /// Median of the whole chain, barriers between its links included.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ns: Option<f64>,
    /// Raw hashes of the most frequent last outputs, one for each operand set, 16 hex digits.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub usual: Vec<String>,
    pub verdict: Verdict,
}

impl Chained {
    /// A verdict that came without a run.
    pub fn bare(chain: usize, verdict: Verdict) -> Self {
        Self {
            chain,
            replays: 0,
            excess_distinct: 0,
            deviating: 0,
            deviating_by_link: Vec::new(),
            deviation_median: None,
            deviation_max: None,
            err_over_bound: None,
            time_ns: None,
            usual: Vec::new(),
            verdict,
        }
    }
}

/// The outcome of replaying one candidate in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Triaged {
    pub case: usize,
    pub candidate: usize,
    pub way: Way,
    pub outputs: Vec<OutputCount>,
    /// The GPU's clock while they ran, in MHz: lowest, median and highest reading. None where it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_mhz: Option<[f64; 3]>,
    /// Why this way cannot be had here; then there are no outputs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub impediment: Option<String>,
}

/// How often an output came of some operands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputCount {
    /// Family and set, such as `I1 A`.
    pub operands: String,
    /// Of the raw words, 16 hex digits.
    pub hash: String,
    /// Of integers, whether it is the one right output; of random data only `false`, where elements were not written, are
    /// NaN, or lie outside the tensor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub is_right: Option<bool>,
    pub replays: u32,
}

impl Verified {
    /// A verdict that came without a run.
    pub fn bare(case: usize, candidate: usize, verdict: Verdict) -> Self {
        Self {
            case,
            candidate,
            verdict,
            i1_hash: None,
            probe_ns: None,
            err_over_bound: None,
            driver_ms: None,
            registers: None,
            spills: None,
            checks: 0,
        }
    }
}

impl Replayed {
    /// A verdict that came without a run.
    pub fn bare(case: usize, candidate: usize, verdict: Verdict) -> Self {
        Self {
            case,
            candidate,
            replays: 0,
            distinct: 0,
            deviating: 0,
            deviation_median: None,
            deviation_max: None,
            arms: Vec::new(),
            verdict,
        }
    }
}
