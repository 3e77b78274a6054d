//! Which axis value brings a fault: the smallest set of values that every candidate with them shares the fault of, and
//! that an admitted neighbour shows to be needed. Pure; must not know how verdicts came about.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Values that may be to blame together at most: more would name the candidate itself.
const MAX_VALUES: usize = 3;

/// One candidate of a case and given class, as far as it can be blamed on something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Value on each axis, in the order of the axes; the same axes for all points.
    pub values: Vec<String>,
    pub is_bad: bool,
}

/// What is to blame.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Culprit {
    /// Indices of axes, ascending, with the value of each.
    pub values: Vec<(usize, String)>,
    /// Some candidate with these values has, for each of them, an admitted neighbour that differs in nothing else. A sweep of
    /// pairs may lack those, and then only makes it likely, unless it walked to them.
    pub is_shown: bool,
}

impl Culprit {
    /// `tile=2x2x8 with weights=buf`, as `axes` names them.
    pub fn text(&self, axes: &[&str]) -> String {
        let name = |axis: usize| axes.get(axis).copied().unwrap_or("?");
        let values: Vec<String> = self.values.iter().map(|(axis, value)| format!("{}={value}", name(*axis))).collect();
        let likely = if self.is_shown { "" } else { " (likely)" };
        format!("{}{likely}", values.join(" with "))
    }
}

/// The culprit of each bad point; `None` for the others, and where nothing but the class as a whole is to blame.
///
/// A set of values is to blame for a point that has it when all points that have it are bad, and when without any one of
/// its values a point is admitted. Of several, one that admitted neighbours show to be needed comes before those that are
/// only likely, as every cause of its candidate's fault must hold all of it; then the one with the fewest values, then the one
/// that explains most.
pub fn culprits(points: &[Point]) -> Vec<Option<Culprit>> {
    let n_axes = points.first().map_or(0, |p| p.values.len());
    if points.iter().all(|p| !p.is_bad) || points.iter().any(|p| p.values.len() != n_axes) {
        return vec![None; points.len()];
    }
    let tally = Tally::new(points, n_axes);
    points.iter().map(|point| point.is_bad.then(|| tally.blame(point)).flatten()).collect()
}

/// Axes of a set.
type Axes = Vec<usize>;

struct Tally<'a> {
    sets: Vec<Axes>,
    /// For each set, by its values.
    counts: Vec<HashMap<Vec<&'a str>, Count>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    n_bad: usize,
    n_admitted: usize,
    is_shown: bool,
}

impl<'a> Tally<'a> {
    fn new(points: &'a [Point], n_axes: usize) -> Self {
        let sets = subsets(n_axes);
        let mut counts: Vec<HashMap<Vec<&str>, Count>> = vec![HashMap::new(); sets.len()];
        let mut values: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); n_axes];
        for point in points {
            for (axis, value) in point.values.iter().enumerate() {
                values[axis].insert(value);
            }
        }
        let whole = |p: &'a Point| p.values.iter().map(String::as_str).collect::<Vec<&str>>();
        let admitted: HashSet<Vec<&str>> = points.iter().filter(|p| !p.is_bad).map(whole).collect();
        // Whether an admitted point differs from this one on `axis` alone.
        let has_neighbour = |point: &'a Point, axis: usize| {
            let mut other = whole(point);
            values[axis].iter().any(|&value| {
                other[axis] = value;
                admitted.contains(&other)
            })
        };
        for point in points {
            let neighbours: Vec<bool> = (0..n_axes).map(|axis| point.is_bad && has_neighbour(point, axis)).collect();
            for (set, count) in sets.iter().zip(&mut counts) {
                let count = count.entry(restricted(point, set)).or_default();
                count.n_bad += usize::from(point.is_bad);
                count.n_admitted += usize::from(!point.is_bad);
                count.is_shown |= set.iter().all(|&axis| neighbours[axis]);
            }
        }
        Self { sets, counts }
    }

    fn blame(&self, point: &'a Point) -> Option<Culprit> {
        let mut best: Option<(bool, usize, Reverse<usize>, Culprit)> = None;
        for (set, count) in self.sets.iter().zip(&self.counts) {
            let Some(count) = count.get(&restricted(point, set)).filter(|c| c.n_admitted == 0) else { continue };
            if !count.is_shown && !set.iter().all(|&axis| self.is_needed(point, set, axis)) {
                continue;
            }
            let values = set.iter().map(|&axis| (axis, point.values[axis].clone())).collect();
            let culprit = Culprit { values, is_shown: count.is_shown };
            let blamed = (!count.is_shown, set.len(), Reverse(count.n_bad), culprit);
            if best.as_ref().is_none_or(|b| (blamed.0, blamed.1, blamed.2) < (b.0, b.1, b.2)) {
                best = Some(blamed);
            }
        }
        best.map(|(.., culprit)| culprit)
    }

    /// An admitted point that has the other values of the set.
    fn is_needed(&self, point: &'a Point, set: &Axes, axis: usize) -> bool {
        let others: Axes = set.iter().copied().filter(|&a| a != axis).collect();
        let at = self.sets.iter().position(|s| *s == others);
        match at {
            Some(at) => self.counts[at].get(&restricted(point, &others)).is_some_and(|c| c.n_admitted > 0),
            // Without its only value anything will do.
            None => self.counts[set[0]].values().any(|c| c.n_admitted > 0),
        }
    }
}

fn restricted<'a>(point: &'a Point, set: &Axes) -> Vec<&'a str> {
    set.iter().map(|&axis| point.values[axis].as_str()).collect()
}

/// All sets of one to [`MAX_VALUES`] axes, the small ones first.
fn subsets(n_axes: usize) -> Vec<Axes> {
    let mut sets: Vec<Axes> = (0..n_axes).map(|axis| vec![axis]).collect();
    let mut first_of_size = 0;
    for _ in 1..MAX_VALUES {
        let end = sets.len();
        for at in first_of_size..end {
            let from = sets[at].last().map_or(0, |last| last + 1);
            for axis in from..n_axes {
                let mut larger = sets[at].clone();
                larger.push(axis);
                sets.push(larger);
            }
        }
        first_of_size = end;
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: [&str; 3] = ["tile", "weights", "local"];

    /// Every combination of three tiles, two weights and two local sizes.
    fn all(is_bad: impl Fn(&str, &str, &str) -> bool) -> Vec<Point> {
        let mut points = Vec::new();
        for tile in ["1x1x4", "2x1x4", "2x2x8"] {
            for weights in ["tex2d", "buf"] {
                for local in ["8x8", "64x1"] {
                    let values = vec![tile.to_owned(), weights.to_owned(), local.to_owned()];
                    points.push(Point { values, is_bad: is_bad(tile, weights, local) });
                }
            }
        }
        points
    }

    fn texts(points: &[Point]) -> Vec<String> {
        let mut texts: Vec<String> = culprits(points).iter().flatten().map(|c| c.text(&AXES)).collect();
        texts.sort();
        texts.dedup();
        texts
    }

    #[test]
    fn one_value_is_named_alone() {
        assert_eq!(texts(&all(|tile, _, _| tile == "2x2x8")), ["tile=2x2x8"]);
        assert_eq!(texts(&all(|_, _, local| local == "64x1")), ["local=64x1"]);
    }

    #[test]
    fn two_values_are_named_together_only_where_both_are_needed() {
        assert_eq!(
            texts(&all(|tile, weights, _| tile == "2x2x8" && weights == "buf")),
            ["tile=2x2x8 with weights=buf"]
        );
    }

    #[test]
    fn two_faults_have_two_culprits() {
        let both = all(|tile, weights, _| tile == "2x2x8" || weights == "buf");
        assert_eq!(texts(&both), ["tile=2x2x8", "weights=buf"]);
    }

    #[test]
    fn three_values_are_named_where_no_pair_of_them_is_bad_throughout() {
        let three = all(|tile, weights, local| (tile, weights, local) == ("2x2x8", "buf", "64x1"));
        assert_eq!(texts(&three), ["tile=2x2x8 with weights=buf with local=64x1"]);
    }

    #[test]
    fn a_class_that_is_bad_throughout_has_no_culprit() {
        assert_eq!(texts(&all(|_, _, _| true)), Vec::<String>::new());
        assert_eq!(culprits(&[]), []);
        assert_eq!(texts(&all(|_, _, _| false)), Vec::<String>::new());
    }

    #[test]
    fn a_sweep_of_pairs_says_that_it_is_only_likely() {
        let mut points = all(|tile, _, _| tile == "2x2x8");
        // The only point with 2x2x8 has no neighbour that differs in the tile alone.
        points.retain(|p| p.values[0] != "2x2x8" || (p.values[1] == "buf" && p.values[2] == "8x8"));
        points.retain(|p| p.is_bad || p.values[1] != "buf" || p.values[2] != "8x8");
        assert_eq!(texts(&points), ["tile=2x2x8 (likely)"]);
    }
}
