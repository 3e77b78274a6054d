//! A small selection of rows in which every pair of values still occurs. Knows indices only, so the
//! local size can be one more column beside the axes.

use std::collections::BinaryHeap;

/// Fixed, so that the same matrix always gives the same selection.
const SEED: u64 = 0x7469_6c65_736d_6974;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "compile", derive(miette::Diagnostic))]
pub enum CoverError {
    #[error("{max} candidates cannot cover every pair of axis values; {needed} are needed")]
    TooFew { max: usize, needed: usize },
    #[error("row {row} has {found} columns and row 0 has {expected}")]
    Ragged { row: usize, found: usize, expected: usize },
}

/// Chooses rows so that every pair of values that occurs in any row occurs in a chosen one, then fills
/// up to `max` with rows spread evenly. Returns ascending indices.
///
/// Greedy: each step takes the row with the most new pairs. Gains only shrink, so a heap of old gains
/// finds the best row without looking at all (8,640 rows of 9 columns: a few milliseconds).
pub fn cover_pairs(rows: &[Vec<usize>], max: usize) -> Result<Vec<usize>, CoverError> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let n_columns = first.len();
    if let Some((row, found)) = rows.iter().enumerate().find(|(_, row)| row.len() != n_columns) {
        return Err(CoverError::Ragged { row, found: found.len(), expected: n_columns });
    }
    let pairs = PairIds::new(rows, n_columns);
    let mut covered = vec![false; pairs.n_ids];
    let gain = |row: usize, covered: &[bool]| pairs.of(&rows[row]).filter(|id| !covered[*id]).count();

    // Ties go to the row with the largest hash: neighbours in file order share most of their values.
    let mut heap: BinaryHeap<(usize, u64, usize)> =
        (0..rows.len()).map(|row| (gain(row, &covered), mix(row as u64), row)).collect();
    let mut chosen = vec![false; rows.len()];
    let mut n_chosen = 0;
    while let Some((old_gain, hash, row)) = heap.pop() {
        let new_gain = gain(row, &covered);
        if new_gain == 0 {
            continue; // gains never grow again
        }
        if new_gain < old_gain {
            heap.push((new_gain, hash, row));
            continue;
        }
        pairs.of(&rows[row]).for_each(|id| covered[id] = true);
        chosen[row] = true;
        n_chosen += 1;
    }
    // One column has no pairs, and a single value still has to occur.
    if n_columns < 2 && n_chosen == 0 {
        let mut seen = std::collections::BTreeSet::new();
        for (row, values) in rows.iter().enumerate() {
            if seen.insert(values.clone()) {
                chosen[row] = true;
                n_chosen += 1;
            }
        }
    }
    if n_chosen > max {
        return Err(CoverError::TooFew { max, needed: n_chosen });
    }
    fill(&mut chosen, max - n_chosen);
    Ok((0..rows.len()).filter(|row| chosen[*row]).collect())
}

/// Chooses `n` more: the rest is cut into `n` runs of nearly equal length, and one row of each is drawn.
fn fill(chosen: &mut [bool], n: usize) {
    let rest: Vec<usize> = (0..chosen.len()).filter(|row| !chosen[*row]).collect();
    let n = n.min(rest.len());
    for part in 0..n {
        let (start, end) = (part * rest.len() / n, (part + 1) * rest.len() / n);
        let drawn = start + (mix(part as u64 ^ SEED) % (end - start) as u64) as usize;
        chosen[rest[drawn]] = true;
    }
}

/// Dense ids of the pairs (column a, value, column b, value) with a < b.
struct PairIds {
    /// Number of values of each column.
    sizes: Vec<usize>,
    /// First id of each pair of columns, `a * n_columns + b`.
    starts: Vec<usize>,
    n_ids: usize,
}

impl PairIds {
    fn new(rows: &[Vec<usize>], n_columns: usize) -> Self {
        let sizes: Vec<usize> =
            (0..n_columns).map(|column| rows.iter().map(|row| row[column] + 1).max().unwrap_or(1)).collect();
        let mut starts = vec![0; n_columns * n_columns];
        let mut n_ids = 0;
        for a in 0..n_columns {
            for b in a + 1..n_columns {
                starts[a * n_columns + b] = n_ids;
                n_ids += sizes[a] * sizes[b];
            }
        }
        Self { sizes, starts, n_ids }
    }

    fn of<'a>(&'a self, row: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let n = self.sizes.len();
        (0..n).flat_map(move |a| (a + 1..n).map(move |b| self.starts[a * n + b] + row[a] * self.sizes[b] + row[b]))
    }
}

/// The finaliser of splitmix64.
fn mix(value: u64) -> u64 {
    let mut v = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    fn pairs(rows: impl Iterator<Item = Vec<usize>>) -> BTreeSet<(usize, usize, usize, usize)> {
        rows.flat_map(|row| {
            let n = row.len();
            (0..n)
                .flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
                .map(move |(a, b)| (a, row[a], b, row[b]))
                .collect::<Vec<_>>()
        })
        .collect()
    }

    fn product(sizes: &[usize]) -> Vec<Vec<usize>> {
        sizes.iter().fold(vec![vec![]], |rows, size| {
            rows.iter()
                .flat_map(|row| (0..*size).map(|v| [row.clone(), vec![v]].concat()).collect::<Vec<_>>())
                .collect()
        })
    }

    #[test]
    fn the_real_product_is_covered_by_few() {
        let rows: Vec<Vec<usize>> =
            product(&[2, 2, 2, 2, 5, 2, 2, 3, 12]).into_iter().filter(|row| row[0] == 1 || row[2] == 0).collect();
        assert_eq!(rows.len(), 720 * 12);
        let chosen = cover_pairs(&rows, 216).unwrap();
        assert_eq!(chosen.len(), 216);
        assert!(chosen.is_sorted());
        assert_eq!(pairs(chosen.iter().map(|row| rows[*row].clone())), pairs(rows.iter().cloned()));
        assert_eq!(chosen, cover_pairs(&rows, 216).unwrap());
        let Err(CoverError::TooFew { max: 10, needed }) = cover_pairs(&rows, 10) else {
            panic!("10 rows cannot cover 60 pairs of two columns")
        };
        assert!((60..=90).contains(&needed), "{needed} rows for 12 x 5 pairs");
        assert_eq!(cover_pairs(&rows, needed).unwrap().len(), needed);
    }

    #[test]
    fn small_sets_are_taken_whole() {
        let rows = product(&[2, 2]);
        assert_eq!(cover_pairs(&rows, 100).unwrap(), vec![0, 1, 2, 3]);
        assert_eq!(cover_pairs(&product(&[3]), 3).unwrap(), vec![0, 1, 2]);
        assert_eq!(cover_pairs(&[], 3).unwrap(), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn every_pair_that_occurs_is_covered(rows in proptest::collection::vec(proptest::collection::vec(0usize..4, 4), 1..60)) {
            let chosen = cover_pairs(&rows, rows.len()).unwrap();
            prop_assert_eq!(pairs(chosen.iter().map(|row| rows[*row].clone())), pairs(rows.iter().cloned()));
        }
    }
}
