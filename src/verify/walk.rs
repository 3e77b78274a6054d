//! The walk from a bad point to admitted ones, one axis at a time: which neighbours would tell what brings the fault. Pure;
//! must not know how verdicts come about.

use std::collections::HashSet;

use super::culprit::Point;

/// What there is to walk on.
pub struct Ground<'a> {
    /// What is known by now.
    pub points: &'a [Point],
    /// All values of each axis.
    pub values: &'a [Vec<String>],
    /// Whether a point can be asked about.
    pub exists: &'a dyn Fn(&[String]) -> bool,
}

/// A walk, as far as it came.
#[derive(Debug, Clone)]
pub struct Walk {
    /// A bad point.
    at: Vec<String>,
    visited: HashSet<Vec<String>>,
}

/// On how many axes two points differ.
fn distance(a: &[String], b: &[String]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

fn with(point: &[String], axis: usize, value: &str) -> Vec<String> {
    let mut other = point.to_vec();
    value.clone_into(&mut other[axis]);
    other
}

/// How far the nearest admitted point is from a bad one; `None` where none is admitted.
pub fn distance_to_admitted(points: &[Point], from: &[String]) -> Option<usize> {
    points.iter().filter(|p| !p.is_bad).map(|p| distance(&p.values, from)).min()
}

impl Walk {
    pub fn from(start: Vec<String>) -> Walk {
        Walk { visited: HashSet::from([start.clone()]), at: start }
    }

    /// The known neighbours on one axis.
    fn neighbours<'a>(&'a self, ground: &Ground<'a>, axis: usize) -> impl Iterator<Item = &'a Point> {
        let is_neighbour = move |p: &&Point| p.values[axis] != self.at[axis] && distance(&p.values, &self.at) == 1;
        ground.points.iter().filter(is_neighbour)
    }

    /// Whether an admitted neighbour shows that the value on an axis is needed.
    fn is_needed(&self, ground: &Ground, axis: usize) -> bool {
        self.neighbours(ground, axis).any(|p| !p.is_bad)
    }

    /// The nearest admitted point that has all values known to be needed: these do not bring the fault alone.
    fn target<'a>(&self, ground: &Ground<'a>) -> Option<&'a [String]> {
        let needed: Vec<usize> = (0..self.at.len()).filter(|&axis| self.is_needed(ground, axis)).collect();
        let has_needed = |p: &&Point| needed.iter().all(|&axis| p.values[axis] == self.at[axis]);
        let admitted = ground.points.iter().filter(|p| !p.is_bad).filter(has_needed);
        admitted.min_by_key(|p| distance(&p.values, &self.at)).map(|p| p.values.as_slice())
    }

    /// The neighbours to ask about here: one on each axis that nothing is known of yet, with the value of the target, else with
    /// that of the nearest admitted point.
    pub fn wanted(&self, ground: &Ground) -> Vec<Vec<String>> {
        let target = self.target(ground);
        let wanted = |axis: usize| {
            if self.is_needed(ground, axis) {
                return None;
            }
            let ahead = target.map(|t| t[axis].as_str()).filter(|value| *value != self.at[axis]);
            let mut known = self.neighbours(ground, axis).peekable();
            let is_answered = match ahead {
                Some(value) if (ground.exists)(&with(&self.at, axis, value)) => known.any(|p| p.values[axis] == value),
                _ => known.peek().is_some(),
            };
            if is_answered {
                return None;
            }
            let nearest = |value: &str| {
                let there = ground.points.iter().filter(|p| !p.is_bad && p.values[axis] == value);
                there.map(|p| distance(&p.values, &self.at)).min().unwrap_or(usize::MAX)
            };
            let others = ground.values[axis].iter().filter(|value| **value != self.at[axis]);
            let others =
                others.map(|value| (ahead != Some(value.as_str()), nearest(value), with(&self.at, axis, value)));
            let possible = others.filter(|(.., point)| (ground.exists)(point));
            possible.min_by_key(|(is_aside, distance, _)| (*is_aside, *distance)).map(|(.., point)| point)
        };
        (0..self.at.len()).filter_map(wanted).collect()
    }

    /// One step towards the target, to a neighbour that is bad as well; false where nothing is left to learn: the values known
    /// to be needed are on no admitted point, or no step leads on.
    pub fn step(&mut self, ground: &Ground) -> bool {
        let Some(target) = self.target(ground) else { return false };
        let next = (0..self.at.len()).filter(|&axis| target[axis] != self.at[axis]).find_map(|axis| {
            let next = with(&self.at, axis, &target[axis]);
            let is_bad = ground.points.iter().any(|p| p.is_bad && p.values == next);
            (is_bad && !self.visited.contains(&next)).then_some(next)
        });
        let Some(next) = next else { return false };
        self.visited.insert(next.clone());
        self.at = next;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::culprit::culprits;
    use super::*;

    const AXES: [&str; 4] = ["tile", "weights", "bounds", "local"];

    fn values() -> Vec<Vec<String>> {
        let axes: [&[&str]; 4] =
            [&["1", "2", "4"], &["tex", "buf"], &["guarded", "clamped", "kcheck"], &["8x8", "64x1"]];
        axes.map(|values| values.iter().map(|v| (*v).to_owned()).collect()).to_vec()
    }

    fn point(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// The culprit of the first of `known` before and after a walk from it, and how many points were asked about.
    fn walked(known: &[&str], is_bad: impl Fn(&[&str]) -> bool) -> (String, String, usize) {
        let values = values();
        let judge = |values: Vec<String>| {
            let is_bad = is_bad(&values.iter().map(String::as_str).collect::<Vec<_>>());
            Point { values, is_bad }
        };
        let name = |points: &[Point]| culprits(points)[0].as_ref().map_or("nothing".to_owned(), |c| c.text(&AXES));
        let mut points: Vec<Point> = known.iter().map(|text| judge(point(text))).collect();
        let before = name(&points);
        let mut walk = Walk::from(points[0].values.clone());
        loop {
            let ground = Ground { points: &points, values: &values, exists: &|_| true };
            let wanted = walk.wanted(&ground);
            if wanted.is_empty() && !walk.step(&ground) {
                break;
            }
            points.extend(wanted.into_iter().map(&judge));
        }
        (before, name(&points), points.len() - known.len())
    }

    #[test]
    fn a_pair_is_told_from_what_happened_to_be_beside_it() {
        let is_bad = |p: &[&str]| p[0] == "4" && p[1] == "buf";
        let known = ["4 buf clamped 64x1", "4 tex guarded 8x8", "1 buf guarded 64x1", "2 tex kcheck 8x8"];
        let (before, after, n_asked) = walked(&known, is_bad);
        // One of four candidates with it: bounds=clamped was on no other.
        assert_eq!(before, "bounds=clamped (likely)");
        assert_eq!((after.as_str(), n_asked), ("tile=4 with weights=buf", 4));
    }

    #[test]
    fn of_two_faults_at_once_each_is_walked_out_of() {
        // Changing either alone does not mend the first point.
        let is_bad = |p: &[&str]| p[0] == "4" || p[2] == "clamped";
        let (_, after, n_asked) = walked(&["4 buf clamped 64x1", "1 tex guarded 8x8", "2 buf kcheck 64x1"], is_bad);
        assert!(["tile=4", "bounds=clamped"].contains(&after.as_str()), "{after}");
        assert!(n_asked <= 8, "{n_asked}");
    }

    #[test]
    fn a_third_value_is_found_where_an_admitted_point_has_the_other_two() {
        let is_bad = |p: &[&str]| p[0] == "4" && p[1] == "buf" && p[2] == "clamped";
        let (_, after, _) = walked(&["4 buf clamped 64x1", "1 tex guarded 8x8", "4 buf kcheck 8x8"], is_bad);
        assert_eq!(after, "tile=4 with weights=buf with bounds=clamped");
    }

    #[test]
    fn a_walk_ends_where_nothing_mends_it() {
        let (_, after, n_asked) =
            walked(&["4 buf clamped 64x1", "1 tex guarded 8x8"], |p| p != ["1", "tex", "guarded", "8x8"]);
        assert!(after.matches("=").count() == 1 && n_asked <= 16, "{after} {n_asked}");
        assert_eq!(walked(&["4 buf clamped 64x1"], |_| true).1, "nothing");
    }

    #[test]
    fn what_does_not_exist_is_not_asked_about() {
        let values = values();
        let points = [
            Point { values: point("4 buf clamped 64x1"), is_bad: true },
            Point { values: point("1 tex clamped 64x1"), is_bad: false },
        ];
        let exists = |p: &[String]| p[0] != "1" && p[3] == "64x1";
        let ground = Ground { points: &points, values: &values, exists: &exists };
        let wanted = Walk::from(points[0].values.clone()).wanted(&ground);
        assert_eq!(wanted, ["2 buf clamped 64x1", "4 tex clamped 64x1", "4 buf guarded 64x1"].map(point));
    }
}
