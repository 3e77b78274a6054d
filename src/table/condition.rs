//! The conditions of rules, and products of case features, in the one small grammar that JSON, Rust and C++
//! evaluate alike: products of features compared with integers, joined by `and`.
//!
//! Arithmetic is unsigned 64-bit and saturating; a negative feature counts as zero, a missing one too.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The features of a case as the table's evaluation sees them.
pub trait Features {
    fn feature(&self, name: &str) -> i64;
}

impl Features for std::collections::BTreeMap<String, i64> {
    fn feature(&self, name: &str) -> i64 {
        self.get(name).copied().unwrap_or(0)
    }
}

/// Names of case features, multiplied: `w_out * h_out`. Without names it is 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Product(pub Vec<String>);

impl Product {
    pub fn of(names: &[&str]) -> Self {
        Self(names.iter().map(|n| (*n).to_owned()).collect())
    }

    pub fn value(&self, case: &impl Features) -> u64 {
        self.0
            .iter()
            .fold(1, |product: u64, name| product.saturating_mul(u64::try_from(case.feature(name)).unwrap_or(0)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    AtLeast,
    Below,
}

/// `product >= bound` or `product < bound`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    pub product: Product,
    pub comparison: Comparison,
    pub bound: u64,
}

impl Condition {
    pub fn holds(&self, case: &impl Features) -> bool {
        let value = self.product.value(case);
        match self.comparison {
            Comparison::AtLeast => value >= self.bound,
            Comparison::Below => value < self.bound,
        }
    }
}

/// Conditions that must all hold; none: always.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct When(pub Vec<Condition>);

impl When {
    pub fn always() -> Self {
        Self::default()
    }

    pub fn holds(&self, case: &impl Features) -> bool {
        self.0.iter().all(|c| c.holds(case))
    }

    /// This and one more; a bound on the same product is tightened instead of written twice.
    pub fn and(&self, condition: Condition) -> Self {
        let mut all = self.0.clone();
        let same = |c: &&mut Condition| c.product == condition.product && c.comparison == condition.comparison;
        match all.iter_mut().find(same) {
            Some(old) => {
                old.bound = match condition.comparison {
                    Comparison::AtLeast => old.bound.max(condition.bound),
                    Comparison::Below => old.bound.min(condition.bound),
                }
            }
            None => all.push(condition),
        }
        all.sort();
        Self(all)
    }

    pub fn features(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|c| c.product.0.iter().map(String::as_str))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error("{0:?} is no product (allowed: names joined by *)")]
    Product(String),
    #[error("{0:?} is no condition (allowed: PRODUCT >= INTEGER or PRODUCT < INTEGER, joined by and, or true)")]
    Condition(String),
}

impl FromStr for Product {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let name = |part: &str| {
            let part = part.trim();
            let word = part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let starts = part.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
            (word && starts).then(|| part.to_owned())
        };
        if text.trim() == "1" {
            return Ok(Self(Vec::new()));
        }
        let names: Option<Vec<String>> = text.split('*').map(name).collect();
        names.map(Self).ok_or_else(|| ConditionError::Product(text.to_owned()))
    }
}

impl FromStr for When {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        if text.trim() == "true" {
            return Ok(Self::always());
        }
        let condition = |part: &str| {
            let fault = || ConditionError::Condition(part.trim().to_owned());
            let (left, comparison, right) = match (part.split_once(">="), part.split_once('<')) {
                (Some((left, right)), None) => (left, Comparison::AtLeast, right),
                (None, Some((left, right))) => (left, Comparison::Below, right),
                _ => return Err(fault()),
            };
            let bound = right.trim().parse().map_err(|_| fault())?;
            Ok(Condition { product: left.parse()?, comparison, bound })
        };
        text.split(" and ").map(condition).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("1") } else { f.write_str(&self.0.join(" * ")) }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("true");
        }
        for (i, c) in self.0.iter().enumerate() {
            let and = if i == 0 { "" } else { " and " };
            let sign = match c.comparison {
                Comparison::AtLeast => ">=",
                Comparison::Below => "<",
            };
            write!(f, "{and}{} {sign} {}", c.product, c.bound)?;
        }
        Ok(())
    }
}

macro_rules! through_text {
    ($($ty:ty),*) => {$(
        impl TryFrom<String> for $ty {
            type Error = ConditionError;
            fn try_from(text: String) -> Result<Self, ConditionError> {
                text.parse()
            }
        }
        impl From<$ty> for String {
            fn from(value: $ty) -> String {
                value.to_string()
            }
        }
    )*};
}
through_text!(Product, When);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn text_and_back() {
        for text in ["true", "c_in >= 4", "w_out * h_out * batch >= 4096 and c_out < 64"] {
            assert_eq!(text.parse::<When>().unwrap().to_string(), text);
        }
        for text in ["", "c_in > 4", "c_in >= -1", "2 * c_in >= 4", "c_in >= 4 or c_out < 2", "c_in >= 4 < 5", "c_in"] {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }

    #[test]
    fn extremes_saturate() {
        let case = BTreeMap::from([("a".to_owned(), i64::MAX), ("n".to_owned(), -5)]);
        assert_eq!(Product::of(&["a", "a", "a"]).value(&case), u64::MAX);
        assert_eq!(Product::of(&["a", "n"]).value(&case), 0);
        assert_eq!(Product::of(&["missing"]).value(&case), 0);
        assert_eq!(Product::of(&[]).value(&case), 1);
    }

    #[test]
    fn a_second_bound_tightens_the_first() {
        let at_least = |bound| Condition { product: Product::of(&["a"]), comparison: Comparison::AtLeast, bound };
        let when = When::always().and(at_least(4)).and(at_least(16)).and(at_least(8));
        assert_eq!(when.to_string(), "a >= 16");
    }
}
