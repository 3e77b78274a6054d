//! How far outputs of an unstable candidate are from each other. Changes no verdict.

use crate::stats::median;
use crate::verify::difference::Difference;

/// Of each deviating output its largest difference from the most frequent one, in an element; of those the median and the
/// largest. `None` without an output, or where one is not finite in an element.
pub fn deviation(most_frequent: &[f32], deviating: &[Vec<f32>]) -> Option<[f64; 2]> {
    let largest = deviating.iter().map(|output| Difference::between(output, most_frequent).map_or(0.0, |d| d.max));
    let largest: Vec<f64> = largest.collect();
    let max = largest.iter().copied().reduce(f64::max)?;
    let median = median(&largest)?;
    largest.iter().all(|d| d.is_finite()).then_some([median, max])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_largest_of_the_largest_differences() {
        let near = vec![1.0, 2.25];
        let far = vec![1.5, 6.0];
        assert_eq!(deviation(&[1.0, 2.0], &[near.clone(), far, near.clone()]), Some([0.25, 4.0]));
        assert_eq!(deviation(&[1.0, 2.0], &[near, vec![f32::NAN, 2.0]]), None);
        assert_eq!(deviation(&[1.0, 2.0], &[]), None);
    }
}
