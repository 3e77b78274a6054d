//! The nearest name to a misspelt one. Knows text only.

/// `did you mean ...?` when one of `allowed` is close to `given`.
pub fn did_you_mean(given: &str, allowed: &[&str]) -> Option<String> {
    nearest(given, allowed).map(|name| format!("did you mean `{name}`?"))
}

/// The closest of `allowed`, if it is close enough to be a slip: a third of the letters, at least one.
pub fn nearest<'a>(given: &str, allowed: &[&'a str]) -> Option<&'a str> {
    if given.len() > 64 {
        return None;
    }
    let limit = (given.chars().count() / 3).max(1);
    allowed
        .iter()
        .map(|name| (distance(given, name), *name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Names for a message: `a, b, c`, or `none` when there are none.
pub fn join_names<S: AsRef<str>>(names: &[S]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// Edits between two names, a swap of neighbours counting as one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let substitute = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitute.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["guarded", "clamped", "clamped_kcheck"];
        assert_eq!(nearest("gaurded", &names), Some("guarded"));
        assert_eq!(nearest("clampd", &names), Some("clamped"));
        assert_eq!(nearest("tile", &names), None);
        assert_eq!(nearest("", &names), None);
    }
}
