//! Two outputs that are both right and differ in bits: how far, beside what the bound allows. Changes no verdict; it tells a
//! person that a pick among them changes results.

use rayon::prelude::*;

/// How the random outputs of two admitted candidates of one class differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    pub n_differing: usize,
    pub n_elements: usize,
    /// Of all elements, the equal ones included.
    pub mean: f64,
    pub max: f64,
    /// Index of the element with the largest one.
    pub at: usize,
}

impl Difference {
    /// `None` for outputs that are equal in every element; -0 equals 0.
    pub fn between(one: &[f32], other: &[f32]) -> Option<Difference> {
        let n_elements = one.len().min(other.len());
        let distance = |i: usize| (f64::from(one[i]) - f64::from(other[i])).abs();
        let n_differing = (0..n_elements).into_par_iter().filter(|i| one[*i] != other[*i]).count();
        // Summed in order: the text must not change from run to run.
        let total: f64 = (0..n_elements).map(distance).sum();
        let at = (0..n_elements).max_by(|a, b| distance(*a).total_cmp(&distance(*b)).then(b.cmp(a)))?;
        let mean = total / n_elements as f64;
        (n_differing > 0).then_some(Difference { n_differing, n_elements, mean, max: distance(at), at })
    }

    /// What is said of an admitted candidate. `bound` is that of the element with the largest difference.
    pub fn describe(&self, reference: &str, bound: f64) -> String {
        format!(
            "legal rounding: equal to {reference} on integers, not in all bits on random operands: {} of {} elements differ, \
             mean {:.2e}, max {:.2e} (bound there {:.2e})",
            self.n_differing, self.n_elements, self.mean, self.max, bound
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_difference_is_the_first_of_its_size() {
        let found = Difference::between(&[1.0, 2.0, 0.0, 4.0], &[1.0, 2.5, -0.0, 3.5]).unwrap();
        assert_eq!(found, Difference { n_differing: 2, n_elements: 4, mean: 0.25, max: 0.5, at: 1 });
        assert_eq!(Difference::between(&[0.0, 1.0], &[-0.0, 1.0]), None);
        assert!(
            found
                .describe("plain", 2.0)
                .contains("2 of 4 elements differ, mean 2.50e-1, max 5.00e-1 (bound there 2.00e0)")
        );
    }
}
