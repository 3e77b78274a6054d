//! What wrong elements have in common: a row, a block of channels, a tile, or nothing. Pure; must not know why.

/// Share of the product of the bad coordinates that must be bad: small integers are right by chance now and then.
const MIN_FILL: f64 = 0.75;

/// Names of the axes of a tensor `[n, c, y, x]`, as one of them and as several.
const NAMES: [[&str; 2]; 4] = [["batch", "batches"], ["channel", "channels"], ["row", "rows"], ["column", "columns"]];

/// Describes where the bad elements of a tensor with these dims lie, each as `[n, c, y, x]`. Empty for fewer than two: one
/// element has no pattern.
pub fn describe(bad: &[[usize; 4]], dims: [usize; 4]) -> String {
    if bad.len() < 2 {
        return String::new();
    }
    let coordinates: [Vec<usize>; 4] = std::array::from_fn(|axis| {
        let mut values: Vec<usize> = bad.iter().map(|at| at[axis]).collect();
        values.sort_unstable();
        values.dedup();
        values
    });
    let product: f64 = coordinates.iter().map(|values| values.len() as f64).product();
    if (bad.len() as f64) < MIN_FILL * product {
        return "scattered".to_owned();
    }
    let partial: Vec<usize> = (0..4).filter(|&axis| coordinates[axis].len() < dims[axis]).collect();
    let steps: Vec<Option<usize>> = partial.iter().map(|&axis| step(&coordinates[axis])).collect();
    match (partial.as_slice(), steps.as_slice()) {
        ([], _) => "everywhere".to_owned(),
        ([axis], _) if coordinates[*axis].len() == 1 => format!("one {}", NAMES[*axis][0]),
        ([axis], [Some(1)]) => format!("a block of {}", NAMES[*axis][1]),
        ([axis], [Some(step)]) => format!("every {} {}", ordinal(*step), NAMES[*axis][0]),
        ([axis], _) => format!("some {}", NAMES[*axis][1]),
        (_, steps) if steps.iter().all(|step| *step == Some(1)) => "a tile".to_owned(),
        (axes, steps) => {
            let regular = axes.iter().zip(steps).filter_map(|(axis, step)| Some((axis, step.filter(|s| *s > 1)?)));
            let every: Vec<String> =
                regular.map(|(axis, step)| format!("every {} {}", ordinal(step), NAMES[*axis][0])).collect();
            if every.is_empty() { "several tiles".to_owned() } else { every.join(" and ") }
        }
    }
}

/// The distance between neighbours, if it is the same throughout; 1 for a single value.
fn step(values: &[usize]) -> Option<usize> {
    let first = values.windows(2).map(|w| w[1] - w[0]).next().unwrap_or(1);
    values.windows(2).all(|w| w[1] - w[0] == first).then_some(first)
}

fn ordinal(n: usize) -> String {
    let suffix = match (n % 10, n % 100) {
        (1, 11) | (2, 12) | (3, 13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMS: [usize; 4] = [1, 16, 9, 7];

    fn of(is_bad: impl Fn([usize; 4]) -> bool) -> String {
        let mut bad = Vec::new();
        for c in 0..DIMS[1] {
            for y in 0..DIMS[2] {
                for x in 0..DIMS[3] {
                    bad.extend(Some([0, c, y, x]).filter(|at| is_bad(*at)));
                }
            }
        }
        describe(&bad, DIMS)
    }

    #[test]
    fn lines_blocks_and_tiles_are_named() {
        assert_eq!(of(|_| true), "everywhere");
        assert_eq!(of(|[_, c, ..]| c == 5), "one channel");
        assert_eq!(of(|[_, c, ..]| (4..8).contains(&c)), "a block of channels");
        assert_eq!(of(|[_, c, ..]| c % 4 == 3), "every 4th channel");
        assert_eq!(of(|[.., y, _]| y == 8), "one row");
        assert_eq!(of(|[.., x]| x >= 4), "a block of columns");
        assert_eq!(of(|[_, c, y, x]| c >= 8 && y >= 6 && x >= 4), "a tile");
        assert_eq!(of(|[_, c, _, x]| c % 4 == 3 && x % 2 == 1), "every 4th channel and every 2nd column");
        assert_eq!(of(|[_, c, ..]| [0, 3, 4].contains(&c)), "some channels");
    }

    #[test]
    fn a_few_elements_right_by_chance_hide_no_pattern() {
        assert_eq!(of(|[_, c, y, x]| (4..8).contains(&c) && (y * 7 + x) % 10 != 0), "a block of channels");
    }

    #[test]
    fn what_has_no_pattern_is_scattered() {
        assert_eq!(of(|[_, c, y, x]| (c * 31 + y * 17 + x * 7) % 11 == 0), "scattered");
        assert_eq!(of(|[_, c, y, x]| (c, y, x) == (3, 2, 1)), "", "one element has no pattern");
    }
}
