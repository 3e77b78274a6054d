//! Rows of the two sides joined on case, kernel, variant and local size.

use std::collections::{HashMap, HashSet};

use indexmap::IndexSet;
use serde::Serialize;

use crate::matrix::local_name;
use crate::results::{ResultSet, Row};

/// One candidate on one case, on both sides.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'r> {
    pub a: &'r Row,
    pub b: &'r Row,
}

/// What is on one side only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OneSided {
    pub cases_a: Vec<String>,
    pub cases_b: Vec<String>,
    /// Rows of common cases without a partner.
    pub n_candidates_a: usize,
    pub n_candidates_b: usize,
    /// Of each, a few for a person: case, variant, local size.
    pub examples_a: Vec<String>,
    pub examples_b: Vec<String>,
}

/// Case, kernel, variant and local size, borrowed: there may be half a million of them.
pub type Key<'r> = (&'r str, &'r str, &'r str, [u32; 3]);

pub fn key(row: &Row) -> Key<'_> {
    (&row.case, &row.kernel, &row.variant, row.local)
}

const N_EXAMPLES: usize = 3;

/// The two sides, joined.
#[derive(Debug)]
pub struct Join<'r> {
    pub pairs: Vec<Pair<'r>>,
    /// Rows of cases that both sides have with the same fields, by side.
    pub rows_a: Vec<&'r Row>,
    pub rows_b: Vec<&'r Row>,
    pub only: OneSided,
    /// Axes that a row need not repeat beside its given class.
    pub given_axes: Vec<String>,
    /// Cases with one id and different fields: not comparable.
    unlike: Vec<String>,
    n_other_spirv: usize,
}

impl<'r> Join<'r> {
    pub fn of(a: &'r ResultSet, b: &'r ResultSet) -> Self {
        let by_case_a = first_by_case(&a.rows);
        let by_case_b = first_by_case(&b.rows);
        let cases = |set: &'r ResultSet| set.rows.iter().map(|r| r.case.as_str()).collect::<IndexSet<&str>>();
        let (cases_a, cases_b) = (cases(a), cases(b));
        let owned = |cases: Vec<&&str>| cases.into_iter().map(|c| (*c).to_string()).collect::<Vec<_>>();
        let unlike: Vec<String> = owned(
            cases_a
                .intersection(&cases_b)
                .filter(|c| by_case_a[**c].case_fields != by_case_b[**c].case_fields)
                .collect(),
        );
        let comparable = |row: &&Row| {
            cases_a.contains(row.case.as_str()) && cases_b.contains(row.case.as_str()) && !unlike.contains(&row.case)
        };
        let rows_a: Vec<&Row> = a.rows.iter().filter(comparable).collect();
        let rows_b: Vec<&Row> = b.rows.iter().filter(comparable).collect();

        let place_b: HashMap<Key<'_>, &Row> = rows_b.iter().map(|r| (key(r), *r)).collect();
        let mut pairs = Vec::new();
        let mut paired: HashSet<Key<'_>> = HashSet::new();
        let mut left_a = Vec::new();
        for row in &rows_a {
            match place_b.get(&key(row)) {
                Some(partner) => {
                    paired.insert(key(row));
                    pairs.push(Pair { a: row, b: partner });
                }
                None => left_a.push(*row),
            }
        }
        let left_b: Vec<&Row> = rows_b.iter().copied().filter(|r| !paired.contains(&key(r))).collect();
        let examples = |rows: &[&Row]| rows.iter().take(N_EXAMPLES).map(|r| full_name(r)).collect::<Vec<_>>();
        let only = OneSided {
            cases_a: owned(cases_a.difference(&cases_b).collect()),
            cases_b: owned(cases_b.difference(&cases_a).collect()),
            n_candidates_a: left_a.len(),
            n_candidates_b: left_b.len(),
            examples_a: examples(&left_a),
            examples_b: examples(&left_b),
        };
        let known = |row: &&Row| !row.spirv_hash.is_empty();
        let n_other_spirv =
            pairs.iter().filter(|p| known(&p.a) && known(&p.b) && p.a.spirv_hash != p.b.spirv_hash).count();
        let given_axes = a.provenance().or(b.provenance()).map(|p| p.given_axes.clone()).unwrap_or_default();
        Self { pairs, rows_a, rows_b, only, given_axes, unlike, n_other_spirv }
    }

    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.unlike.is_empty() {
            let cases = self.unlike.join(", ");
            notes.push(format!("not compared, since the two sides mean different shapes by one id: {cases}"));
        }
        if self.n_other_spirv > 0 {
            let n = self.pairs.len();
            notes
                .push(format!("{} of {n} common candidates are different SPIR-V on the two sides", self.n_other_spirv));
        }
        if self.pairs.is_empty() {
            notes.push(
                "no candidate is on both sides, so there is nothing to compare but what each side picks".to_string(),
            );
        }
        notes
    }

    /// A candidate in few words: the values that its given class does not say, and its local size.
    pub fn short_name(&self, row: &Row) -> String {
        let mut words: Vec<&str> = row
            .axes
            .iter()
            .filter(|(axis, _)| !self.given_axes.contains(axis))
            .map(|(_, value)| value.as_str())
            .collect();
        if words.is_empty() {
            words.push(&row.variant);
        }
        format!("{} @ {}", words.join(" "), local_name(row.local))
    }
}

fn first_by_case(rows: &[Row]) -> HashMap<&str, &Row> {
    let mut first = HashMap::new();
    for row in rows {
        first.entry(row.case.as_str()).or_insert(row);
    }
    first
}

pub fn full_name(row: &Row) -> String {
    format!("{} {} @ {}", row.case, row.variant, local_name(row.local))
}
