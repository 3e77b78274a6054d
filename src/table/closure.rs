//! Closure both ways: every row names a compiled variant, and every compiled variant is reachable from the table
//! or listed as dead.

use std::collections::{BTreeMap, BTreeSet};

use super::schema::{Table, TableRow};

/// What does not close.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closure {
    /// Compiled, but no row names it: need not be shipped.
    pub dead: BTreeSet<String>,
    /// Named by a row, but not compiled: selecting it would fail.
    pub missing: BTreeSet<String>,
    /// Compiled to other SPIR-V than what was measured: the row's evidence is of another binary.
    pub stale: BTreeSet<String>,
}

impl Closure {
    /// Nothing that a dispatch could trip over. Dead variants only cost space.
    pub fn holds(&self) -> bool {
        self.missing.is_empty() && self.stale.is_empty()
    }
}

/// `compiled`: variant name to the hash of its SPIR-V.
pub fn closure(table: &Table, compiled: &BTreeMap<String, String>) -> Closure {
    let mut closure = Closure { dead: compiled.keys().cloned().collect(), ..Closure::default() };
    for row in rows(table) {
        closure.dead.remove(&row.variant);
        match compiled.get(&row.variant) {
            None => {
                closure.missing.insert(row.variant.clone());
            }
            Some(hash) if *hash != row.spirv_hash => {
                closure.stale.insert(row.variant.clone());
            }
            Some(_) => {}
        }
    }
    closure
}

/// The variants that rows name and the matrix does not have: what can be told without compiling.
pub fn unknown(table: &Table, names: &BTreeSet<String>) -> BTreeSet<String> {
    rows(table).map(|row| &row.variant).filter(|variant| !names.contains(*variant)).cloned().collect()
}

/// Every row that some query may be answered with.
pub fn rows(table: &Table) -> impl Iterator<Item = &TableRow> {
    let packs = table.classes.values().flat_map(|c| c.values()).flat_map(|s| &s.pack);
    packs.flat_map(|p| p.dispatch.iter().map(|r| &r.row).chain([&p.fallback.row]).chain(p.alternatives.values()))
}
