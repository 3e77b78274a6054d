//! Where the inputs of family H ended up: which index is wrong, and by how much. Reads an output that another family has shown to be
//! wrong; changes no verdict.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::ops::case::Conv2dShape;
use crate::ops::conv2d::{coordinates, index_at};
use crate::ops::one_hot::{id_of, nearest, source_of};

/// Wrong elements that are looked at: each is searched for among all inputs of its number.
const MAX_TRACED: usize = 4096;
const AXES: [&str; 4] = ["n", "c", "y", "x"];

/// What a wrong element of the output holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// An input so many steps from its own, along n, c, y and x.
    Displaced([isize; 4]),
    /// Zero: its input never arrived.
    Lost,
    /// Some input, where only the padding's zero belongs.
    Intruder,
    /// No input's number: several added up, or none at all.
    Mixed,
}

struct Traced {
    index: usize,
    got: f32,
    want: Option<[usize; 4]>,
    found: Found,
}

/// One sentence on an output of family H; `values` in the order of the output's elements.
pub fn describe(shape: &Conv2dShape, values: &[f32]) -> String {
    let input = shape.input_dims();
    let number = |at: [usize; 4]| id_of(index_at(input, at)) as f32;
    let wanted = |index: usize| source_of(shape, index);
    let is_wrong = |index: &usize| values[*index] != wanted(*index).map_or(0.0, number);
    let wrong: Vec<usize> = (0..values.len()).into_par_iter().filter(is_wrong).collect();
    if wrong.is_empty() {
        return "numbered inputs (H) all arrive where they belong: input and weights are indexed right".to_owned();
    }
    let trace = |&index: &usize| {
        let (got, want) = (values[index], wanted(index));
        let found = match want {
            Some(_) if got == 0.0 => Found::Lost,
            Some(want) => nearest(shape, got, want).map_or(Found::Mixed, |at| {
                Found::Displaced(std::array::from_fn(|axis| at[axis] as isize - want[axis] as isize))
            }),
            None if nearest(shape, got, [0; 4]).is_some() => Found::Intruder,
            None => Found::Mixed,
        };
        Traced { index, got, want, found }
    };
    let traced: Vec<Traced> = wrong.par_iter().take(MAX_TRACED).map(trace).collect();
    let mut counts: BTreeMap<Found, usize> = BTreeMap::new();
    for t in &traced {
        *counts.entry(t.found).or_default() += 1;
    }
    // Of equal counts the first in the order above.
    let most = counts.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))).map(|(found, n)| (*found, *n));
    let Some((found, n)) = most else { return String::new() };
    let alike: Vec<&Traced> = traced.iter().filter(|t| t.found == found).collect();
    let first = alike[0];
    let at = place(coordinates(shape.output_dims(), first.index));
    let of = format!("{n} of {} wrong elements", traced.len());
    let text = match (found, first.want) {
        (Found::Displaced(steps), Some(want)) => {
            let from: [usize; 4] = std::array::from_fn(|axis| want[axis].wrapping_add_signed(steps[axis]));
            let moved: Vec<String> =
                (0..4).filter(|a| steps[*a] != 0).map(|a| format!("{} {:+}", AXES[a], steps[a])).collect();
            format!("output {at} holds input {} instead of {}: {} in {of}", place(from), place(want), moved.join(", "))
        }
        (Found::Lost, _) => format!("inputs {} never arrive ({of} are 0), first at output {at}", spread(&alike)),
        (Found::Intruder, _) => format!("output {at} holds an input where the padding is 0; so do {of}"),
        _ => format!("output {at} holds {}, the number of no input; so do {of}", first.got),
    };
    format!("with numbered inputs (H) {text}")
}

fn place(at: [usize; 4]) -> String {
    let [n, c, y, x] = at;
    format!("(n {n}, c {c}, y {y}, x {x})")
}

/// The smallest box around the inputs that belong to these elements.
fn spread(traced: &[&Traced]) -> String {
    let wanted: Vec<[usize; 4]> = traced.iter().filter_map(|t| t.want).collect();
    let range = |axis: usize| {
        let all = wanted.iter().map(|at| at[axis]);
        match (all.clone().min(), all.max()) {
            (Some(low), Some(high)) if low == high => format!("{} {low}", AXES[axis]),
            (Some(low), Some(high)) => format!("{} {low}..{high}", AXES[axis]),
            _ => String::new(),
        }
    };
    format!("({})", (0..4).map(range).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dtype;
    use crate::ops::families::operands;
    use crate::ops::{Case, Family, OperandSet, conv2d};

    fn right() -> (Conv2dShape, Vec<f32>) {
        let fields = [("c_in", 4), ("c_out", 4), ("h", 6), ("w", 5), ("padding", 1)];
        let case = Case::from_pairs("conv2d", &fields).unwrap();
        let shape = Conv2dShape::of(&case).unwrap();
        let operands = operands(&case, Family::H, OperandSet::A, 1, Dtype::F32).unwrap();
        let values = conv2d::exact(&shape, &operands).unwrap().iter().map(|v| *v as f32).collect();
        (shape, values)
    }

    /// The output as a fault makes it: `of` gives each element its value from the right ones.
    fn said(of: impl Fn(&[f32], [usize; 4]) -> f32) -> String {
        let (shape, right) = right();
        let dims = shape.output_dims();
        let values: Vec<f32> = (0..right.len()).map(|i| of(&right, coordinates(dims, i))).collect();
        describe(&shape, &values)
    }

    fn at(values: &[f32], [_, c, y, x]: [usize; 4]) -> f32 {
        values[(c * 8 + y) * 7 + x]
    }

    #[test]
    fn a_wrong_index_is_named_with_its_steps() {
        assert_eq!(said(at), "numbered inputs (H) all arrive where they belong: input and weights are indexed right");
        let shifted = said(
            |v, [n, c, y, x]| if c == 2 && (1..5).contains(&x) { at(v, [n, c, y, x + 1]) } else { at(v, [n, c, y, x]) },
        );
        assert_eq!(
            shifted,
            "with numbered inputs (H) output (n 0, c 2, y 1, x 1) holds input (n 0, c 2, y 0, x 1) instead of \
             (n 0, c 2, y 0, x 0): x +1 in 24 of 24 wrong elements"
        );
        let channel = said(|v, [n, c, y, x]| at(v, [n, c ^ 1, y, x]));
        assert!(channel.contains("c -1 in 60 of 120 wrong elements"), "{channel}");
    }

    #[test]
    fn lost_inputs_intruders_and_sums_are_told_apart() {
        let lost = said(|v, p| if p[1] > 1 { 0.0 } else { at(v, p) });
        assert!(
            lost.contains("inputs (n 0, c 2..3, y 0..5, x 0..4) never arrive (60 of 60 wrong elements are 0)"),
            "{lost}"
        );
        let intruder = said(|v, [n, c, y, x]| at(v, [n, c, y.max(1), x]));
        assert!(
            intruder.contains("(n 0, c 0, y 0, x 1) holds an input where the padding is 0; so do 20 of 20"),
            "{intruder}"
        );
        let mixed = said(|v, p| at(v, p) + 0.5);
        assert!(mixed.contains("holds 0.5, the number of no input; so do 224 of 224"), "{mixed}");
    }
}
