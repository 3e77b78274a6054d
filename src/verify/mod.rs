//! Is this output right? Verdicts, and the rules that lead to them. Fail closed: a check that did not
//! run is not a pass.

use serde::{Deserialize, Serialize};

pub mod applicability;
pub mod compare;
pub mod culprit;
pub mod difference;
pub mod displacement;
pub mod inspection;
pub mod pattern;
pub mod reading;
pub mod replays;
pub mod walk;
pub mod weakening;

pub use applicability::applicability;
pub use weakening::Weakening;

/// Where a candidate stands on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Admitted,
    /// It computed something wrong, or did not finish.
    Rejected,
    /// Its replays differ.
    Unstable,
    /// The device cannot run it: a limit or a missing feature. No pipeline was made.
    Inapplicable,
    /// Nothing is known, and so nothing may be shipped.
    Untested,
}

/// The kind of fault or obstacle, a closed list that results, tests and people share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A guard's NaN reached an output.
    OobRead,
    /// A guard outside the output was overwritten.
    OobWrite,
    /// An output element still holds the poison it held before.
    Unwritten,
    /// Small integers differ: wrong index, lost tile, double count.
    Structure,
    /// Padding lanes of the output that must be zero are not.
    PaddingLanes,
    /// Mid-size integers differ: the accumulator is narrower than claimed.
    PrecisionClass,
    /// Random data beyond the error bound.
    Bound,
    /// Alternating operands: the answer is that of the operands before.
    StaleRead,
    /// Replays of one command buffer differ on integers.
    Race,
    /// Replays differ on random data only.
    Order,
    Hang,
    Crash,
    DeviceLost,
    /// A limit of the device.
    Limit,
    /// A feature the device lacks.
    Feature,
    /// The driver refused the pipeline.
    Pipeline,
    /// The device has too little memory for the case.
    Memory,
    /// Right, but twice as many dispatches do not take twice as long.
    ImplausibleTime,
    /// The probe could not have told right from wrong.
    NotDiscriminating,
    /// The sweep ended before it was asked.
    NotReached,
}

/// What verification found out about one candidate on one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<Kind>,
    /// For a person: first bad element (tensor index, got, want, bound), or the limit and what was asked. One line.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
}

/// [`Verdict::says_nothing`] of its parts.
pub fn says_nothing(status: Status, kind: Option<Kind>) -> bool {
    // A time that cannot be believed was measured, and takes back what an older time was believed for.
    status == Status::Untested && kind != Some(Kind::ImplausibleTime)
}

impl Verdict {
    pub fn admitted() -> Self {
        Self { status: Status::Admitted, kind: None, detail: String::new() }
    }

    pub fn new(status: Status, kind: Kind, detail: impl Into<String>) -> Self {
        Self { status, kind: Some(kind), detail: detail.into() }
    }

    pub fn is_admitted(&self) -> bool {
        self.status == Status::Admitted
    }

    /// Nobody found anything out, so that what was known before stands.
    pub fn says_nothing(&self) -> bool {
        says_nothing(self.status, self.kind)
    }

    /// Such as `rejected(race)`.
    pub fn name(&self) -> String {
        let name = |value: serde_json::Result<serde_json::Value>| {
            value.ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let status = name(serde_json::to_value(self.status));
        match self.kind {
            Some(kind) => format!("{status}({})", name(serde_json::to_value(kind))),
            None => status,
        }
    }
}
