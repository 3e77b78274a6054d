//! One side of a diff: which device and compiler its figures come from, and what makes the two sides hard to compare.

use std::path::Path;

use serde::Serialize;

use crate::results::{Provenance, ResultSet};

/// What identifies one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// The folder's name, or the path where that is ambiguous.
    pub label: String,
    pub device: Option<String>,
    pub driver: Option<String>,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: Option<String>,
    pub compiler: Option<String>,
    pub target_env: Option<String>,
    pub matrix_hash: Option<String>,
    pub finished: Option<String>,
    pub sweeps: Vec<String>,
    pub n_rows: usize,
    /// False when only the rows that a person reads were there.
    pub complete: bool,
}

impl Side {
    pub fn of(set: &ResultSet, other: &ResultSet) -> Self {
        let provenance = set.provenance();
        let read = |f: fn(&Provenance) -> &String| provenance.map(f).cloned();
        let (own, others) = (label(&set.path), label(&other.path));
        Self {
            label: if own == others { set.path.display().to_string() } else { own },
            device: read(|p| &p.device.name),
            driver: provenance.map(|p| format!("{} {}", p.device.driver_name, p.device.driver_info).trim().to_string()),
            kind: read(|p| &p.device.kind),
            compiler: read(|p| &p.compiler),
            target_env: read(|p| &p.target_env),
            matrix_hash: read(|p| &p.matrix_hash),
            finished: read(|p| &p.finished),
            sweeps: set.sources.iter().map(|s| s.name.clone()).collect(),
            n_rows: set.rows.len(),
            complete: set.is_complete(),
        }
    }
}

fn label(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
    name.unwrap_or_else(|| path.display().to_string())
}

/// What a reader must know before believing the figures, most important first.
pub fn notes(a: &ResultSet, b: &ResultSet) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, set) in [("A", a), ("B", b)] {
        match set.provenance() {
            None => notes.push(format!("{name} has no provenance (<sweep>.yaml): its device and compiler are unknown")),
            Some(p) if p.device.kind == "cpu" => notes.push(format!(
                "{name} is a CPU device ({}): its times prove nothing about GPUs; verdicts and hashes do count",
                p.device.name
            )),
            Some(_) => {}
        }
    }
    for (name, set) in [("A", a), ("B", b)].into_iter().filter(|(_, set)| !set.is_complete()) {
        let sweeps: Vec<&str> = set.sources.iter().filter(|s| !s.complete).map(|s| s.name.as_str()).collect();
        let sweeps = sweeps.join(", ");
        notes.push(format!(
            "{name} holds only the rows that a person reads (no {sweeps}.full.csv.zst): all counts are of those"
        ));
    }
    for (name, set) in [("A", a), ("B", b)] {
        let mut compilers: Vec<&str> =
            set.sources.iter().filter_map(|s| s.provenance.as_ref()).map(|p| p.compiler.as_str()).collect();
        compilers.sort_unstable();
        compilers.dedup();
        if compilers.len() > 1 {
            notes.push(format!("{name} mixes sweeps of different compilers: {}", compilers.join(" and ")));
        }
    }
    for (name, yardsticks) in [("A", &a.yardsticks), ("B", &b.yardsticks)].into_iter().filter(|(_, y)| y.n_classes > 0)
    {
        let unrelated = match yardsticks.n_unrelated {
            0 => String::new(),
            n => format!("; {n} candidates that no common one relates to the rest count as not timed"),
        };
        notes.push(format!(
            "{name} holds several sweeps of one case, {} times: there, times are compared by ratios to a candidate that the sweeps share{unrelated}",
            yardsticks.n_classes
        ));
    }
    let (Some(pa), Some(pb)) = (a.provenance(), b.provenance()) else {
        return notes;
    };
    if (pa.device.vendor_id, pa.device.device_id, &pa.device.name)
        != (pb.device.vendor_id, pb.device.device_id, &pb.device.name)
    {
        notes.push("A and B are different devices: ratios are of times over each device's own canary".to_string());
    }
    for (what, of) in [
        ("driver", (|p| p.device.driver_info.clone()) as fn(&Provenance) -> String),
        ("compiler", |p| p.compiler.clone()),
        ("target environment", |p| p.target_env.clone()),
        ("timer", |p| p.timer.clone()),
        ("matrix", |p| p.matrix_hash.clone()),
        ("seed", |p| p.seed.to_string()),
    ] {
        if of(pa) != of(pb) {
            notes.push(format!("{what} differs: A {}, B {}", or_nothing(&of(pa)), or_nothing(&of(pb))));
        }
    }
    notes
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "(not reported)" } else { text }
}
