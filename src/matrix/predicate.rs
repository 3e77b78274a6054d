//! Conditions over the features of a case, such as `kernel_h == 1 and c_in % 4 == 0`: what `accepts` says. A part of
//! minijinja's expressions that means the same in Rust and in C++, since the dispatch tables carry it into both.
//!
//! Numbers are signed 64-bit integers; `+`, `-` and `*` saturate, `//` and `%` round down and take a positive constant only.

use std::fmt;
use std::str::FromStr;

use minijinja::machinery::ast;
use minijinja::value::ValueKind;
use serde::{Deserialize, Serialize};

use super::expression::{ExpressionError, Scope, Seen, check_name, parsed, walk};

/// What may stand in it, for a person.
const ALLOWED: &str = "allowed: integers and features, + - * // % (the last two by a positive constant), == != < <= > >=, in [..], and or not";

/// What is true or false of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    Compare(Number, Relation, Number),
    /// All of them; without any, true.
    All(Vec<Test>),
    /// One of them; without any, false.
    Any(Vec<Test>),
    Not(Box<Test>),
}

/// How the left number has to lie to the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// An integer of 64 bits that follows from a case's features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Number {
    Constant(i64),
    Feature(String),
    Sum(Box<Number>, Box<Number>),
    Difference(Box<Number>, Box<Number>),
    Product(Box<Number>, Box<Number>),
    /// By a positive constant, rounded down.
    Quotient(Box<Number>, i64),
    /// Of a division by a positive constant, rounded down; never negative.
    Remainder(Box<Number>, i64),
}

/// Which cases a kernel can compute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Predicate {
    text: String,
    test: Test,
}

impl Predicate {
    /// `features` are the names that it may use.
    pub fn compile(text: &str, features: &[&str]) -> Result<Self, ExpressionError> {
        let parsed = parsed(text, ALLOWED)?;
        let mut problem = None;
        walk(&parsed, &mut |seen| {
            if let Seen::Variable { name, span, .. } = seen
                && problem.is_none()
            {
                let bytes = span.start_offset as usize..span.end_offset as usize;
                problem = check_name(Scope::Numbers(features), name, None, bytes);
            }
        });
        match problem {
            Some(problem) => Err(problem),
            None => Self::of(text, &parsed),
        }
    }

    fn of(text: &str, parsed: &ast::Expr) -> Result<Self, ExpressionError> {
        let test = test(parsed).map_err(|what| ExpressionError {
            message: format!("`{text}` is no condition over integers: {what}"),
            help: Some(ALLOWED.into()),
            bytes: 0..text.len(),
        })?;
        Ok(Self { text: text.to_owned(), test })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Names of the features that it asks for, each as often as it does.
    pub fn features(&self) -> Vec<&str> {
        fn of_number<'n>(number: &'n Number, names: &mut Vec<&'n str>) {
            match number {
                Number::Constant(_) => {}
                Number::Feature(name) => names.push(name),
                Number::Sum(a, b) | Number::Difference(a, b) | Number::Product(a, b) => {
                    of_number(a, names);
                    of_number(b, names);
                }
                Number::Quotient(a, _) | Number::Remainder(a, _) => of_number(a, names),
            }
        }
        fn of_test<'t>(test: &'t Test, names: &mut Vec<&'t str>) {
            match test {
                Test::Compare(left, _, right) => {
                    of_number(left, names);
                    of_number(right, names);
                }
                Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|t| of_test(t, names)),
                Test::Not(test) => of_test(test, names),
            }
        }
        let mut names = Vec::new();
        of_test(&self.test, &mut names);
        names
    }

    /// For the case whose features `feature` looks up.
    pub fn holds(&self, feature: impl Fn(&str) -> i64) -> bool {
        self.test.holds(&feature)
    }
}

impl FromStr for Predicate {
    type Err = ExpressionError;

    /// Whatever it names.
    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        Self::of(text, &parsed(text, ALLOWED)?)
    }
}

impl TryFrom<String> for Predicate {
    type Error = ExpressionError;

    fn try_from(text: String) -> Result<Self, ExpressionError> {
        text.parse()
    }
}

impl From<Predicate> for String {
    fn from(predicate: Predicate) -> String {
        predicate.text
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Test {
    fn holds(&self, feature: &impl Fn(&str) -> i64) -> bool {
        match self {
            Test::Compare(left, relation, right) => {
                let (left, right) = (left.value(feature), right.value(feature));
                match relation {
                    Relation::Equal => left == right,
                    Relation::Unequal => left != right,
                    Relation::Below => left < right,
                    Relation::AtMost => left <= right,
                    Relation::Above => left > right,
                    Relation::AtLeast => left >= right,
                }
            }
            Test::All(tests) => tests.iter().all(|t| t.holds(feature)),
            Test::Any(tests) => tests.iter().any(|t| t.holds(feature)),
            Test::Not(test) => !test.holds(feature),
        }
    }
}

impl Number {
    fn value(&self, feature: &impl Fn(&str) -> i64) -> i64 {
        match self {
            Number::Constant(value) => *value,
            Number::Feature(name) => feature(name),
            Number::Sum(a, b) => a.value(feature).saturating_add(b.value(feature)),
            Number::Difference(a, b) => a.value(feature).saturating_sub(b.value(feature)),
            Number::Product(a, b) => a.value(feature).saturating_mul(b.value(feature)),
            Number::Quotient(a, by) => a.value(feature).div_euclid(*by),
            Number::Remainder(a, by) => a.value(feature).rem_euclid(*by),
        }
    }
}

/// The condition that `expr` is, or what in it is none.
fn test(expr: &ast::Expr) -> Result<Test, String> {
    use ast::{BinOpKind, CompareOpKind, Expr};
    match expr {
        Expr::Const(constant) if constant.value.kind() == ValueKind::Bool => {
            Ok(if constant.value.is_true() { Test::All(Vec::new()) } else { Test::Any(Vec::new()) })
        }
        Expr::UnaryOp(op) if matches!(op.op, ast::UnaryOpKind::Not) => Ok(Test::Not(Box::new(test(&op.expr)?))),
        Expr::BinOp(op) => match op.op {
            // A chain of equal operators is one list: compilers bound how deep parentheses go.
            BinOpKind::ScAnd => {
                let (mut tests, right) = (into_all(test(&op.left)?), test(&op.right)?);
                tests.extend(into_all(right));
                Ok(Test::All(tests))
            }
            BinOpKind::ScOr => {
                let (mut tests, right) = (into_any(test(&op.left)?), test(&op.right)?);
                tests.extend(into_any(right));
                Ok(Test::Any(tests))
            }
            BinOpKind::Eq => compare(&op.left, Relation::Equal, &op.right),
            BinOpKind::Ne => compare(&op.left, Relation::Unequal, &op.right),
            BinOpKind::Lt => compare(&op.left, Relation::Below, &op.right),
            BinOpKind::Lte => compare(&op.left, Relation::AtMost, &op.right),
            BinOpKind::Gt => compare(&op.left, Relation::Above, &op.right),
            BinOpKind::Gte => compare(&op.left, Relation::AtLeast, &op.right),
            BinOpKind::In => one_of(&op.left, &op.right),
            _ => Err("a number stands where true or false is wanted".to_owned()),
        },
        Expr::Compare(chain) => {
            let mut tests = Vec::new();
            let mut left = &chain.expr;
            for op in &chain.ops {
                let right = &op.expr;
                tests.push(match op.op {
                    CompareOpKind::Eq => compare(left, Relation::Equal, right),
                    CompareOpKind::Ne => compare(left, Relation::Unequal, right),
                    CompareOpKind::Lt => compare(left, Relation::Below, right),
                    CompareOpKind::Lte => compare(left, Relation::AtMost, right),
                    CompareOpKind::Gt => compare(left, Relation::Above, right),
                    CompareOpKind::Gte => compare(left, Relation::AtLeast, right),
                    CompareOpKind::In => one_of(left, right),
                    CompareOpKind::NotIn => one_of(left, right).map(|t| Test::Not(Box::new(t))),
                }?);
                left = right;
            }
            Ok(Test::All(tests))
        }
        _ => Err("a number or a text stands where true or false is wanted".to_owned()),
    }
}

/// Tests that all hold where `test` does. `true` stays one of its own, so that it is seen where it was written.
fn into_all(test: Test) -> Vec<Test> {
    match test {
        Test::All(tests) if !tests.is_empty() => tests,
        other => vec![other],
    }
}

/// Tests one of which holds where `test` does.
fn into_any(test: Test) -> Vec<Test> {
    match test {
        Test::Any(tests) if !tests.is_empty() => tests,
        other => vec![other],
    }
}

fn compare(left: &ast::Expr, relation: Relation, right: &ast::Expr) -> Result<Test, String> {
    Ok(Test::Compare(number(left)?, relation, number(right)?))
}

fn one_of(left: &ast::Expr, list: &ast::Expr) -> Result<Test, String> {
    let left = number(left)?;
    let equal = |right| Test::Compare(left.clone(), Relation::Equal, right);
    let items = match list {
        ast::Expr::List(list) => list.items.iter().map(number).collect::<Result<Vec<_>, _>>()?,
        ast::Expr::Tuple(tuple) => tuple.items.iter().map(number).collect::<Result<Vec<_>, _>>()?,
        _ => return Err("after `in` comes a list in brackets".to_owned()),
    };
    Ok(Test::Any(items.into_iter().map(equal).collect()))
}

fn number(expr: &ast::Expr) -> Result<Number, String> {
    use ast::{BinOpKind, Expr};
    match expr {
        Expr::Const(constant) => match (constant.value.kind(), constant.value.as_i64()) {
            (ValueKind::Number, Some(value)) if constant.value.is_integer() => Ok(Number::Constant(value)),
            _ => Err(format!("{} is no integer of 64 bits", constant.value)),
        },
        Expr::Var(var) => Ok(Number::Feature(var.id.to_owned())),
        Expr::UnaryOp(op) if matches!(op.op, ast::UnaryOpKind::Neg) => match number(&op.expr)? {
            Number::Constant(value) => Ok(Number::Constant(value.saturating_neg())),
            other => Ok(Number::Difference(Box::new(Number::Constant(0)), Box::new(other))),
        },
        Expr::BinOp(op) => {
            let both = || Ok::<_, String>((Box::new(number(&op.left)?), Box::new(number(&op.right)?)));
            let by = || match number(&op.right)? {
                Number::Constant(by) if by > 0 => Ok((Box::new(number(&op.left)?), by)),
                _ => Err("// and % take a positive constant on their right".to_owned()),
            };
            match op.op {
                BinOpKind::Add => both().map(|(a, b)| Number::Sum(a, b)),
                BinOpKind::Sub => both().map(|(a, b)| Number::Difference(a, b)),
                BinOpKind::Mul => both().map(|(a, b)| Number::Product(a, b)),
                BinOpKind::FloorDiv => by().map(|(a, by)| Number::Quotient(a, by)),
                BinOpKind::Rem => by().map(|(a, by)| Number::Remainder(a, by)),
                BinOpKind::Div => Err("/ makes fractions; // rounds down".to_owned()),
                BinOpKind::Pow => Err("** is not known".to_owned()),
                BinOpKind::Concat => Err("~ joins texts".to_owned()),
                _ => Err("true or false stands where a number is wanted".to_owned()),
            }
        }
        Expr::GetAttr(get) => Err(format!("features have no fields such as `{}`", get.name)),
        Expr::Filter(filter) => Err(format!("the filter `{}` is not known", filter.name)),
        Expr::Test(test) => Err(format!("the test `is {}` is not known", test.name)),
        Expr::Call(_) => Err("there are no functions".to_owned()),
        Expr::IfExpr(_) => Err("there is no if; `and` and `or` say the same".to_owned()),
        _ => Err("neither an integer nor a feature".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, c_in: i64, kernel_h: i64) -> bool {
        let predicate = Predicate::compile(text, &["c_in", "kernel_h"]).unwrap();
        predicate.holds(|name| if name == "c_in" { c_in } else { kernel_h })
    }

    #[test]
    fn it_means_what_minijinja_means() {
        let environment = minijinja::Environment::new();
        for text in [
            "kernel_h == 1 and c_in % 4 == 0",
            "not (c_in < 4 or kernel_h != 3)",
            "1 <= kernel_h <= 3",
            "1 < c_in != kernel_h",
            "kernel_h in [1, 3, 5] and c_in not in [3]",
            "(c_in + 3) // 4 * 4 - c_in > kernel_h",
            "-c_in // 4 < -1 and -c_in % 4 == 1",
            "c_in * kernel_h >= 2 * -3",
            "true",
            "not true or c_in == 3",
        ] {
            let minijinja = environment.compile_expression(text).unwrap();
            for (c_in, kernel_h) in [(-9, 0), (0, 0), (1, 1), (3, 1), (3, 3), (4, 5), (7, 2), (8, -3), (64, 3)] {
                let want = minijinja.eval(minijinja::context! { c_in, kernel_h }).unwrap().is_true();
                assert_eq!(holds(text, c_in, kernel_h), want, "{text} for {c_in} and {kernel_h}");
            }
        }
    }

    #[test]
    fn extremes_saturate() {
        assert!(holds("c_in + 1 == c_in", i64::MAX, 0));
        assert!(holds("-c_in == 9223372036854775807", i64::MIN, 0));
        assert!(holds("c_in * kernel_h == c_in", i64::MIN, 2));
        assert!(holds("c_in // 1 == c_in and c_in % 1 == 0", i64::MIN, 0));
    }

    #[test]
    fn what_cannot_be_carried_into_a_table_is_refused() {
        let message = |text: &str| Predicate::compile(text, &["c_in", "kernel_h"]).unwrap_err().to_string();
        for (text, want) in [
            ("kernelh == 1", "no feature is called `kernelh` (allowed: c_in, kernel_h)"),
            ("kernel_h", "`kernel_h` is no condition over integers: a number or a text stands where true"),
            ("c_in / 4 == 2", "/ makes fractions"),
            ("c_in % kernel_h == 0", "a positive constant"),
            ("c_in % 0 == 0", "a positive constant"),
            ("c_in == 1.5", "1.5 is no integer"),
            ("c_in == 'four'", "four is no integer"),
            ("c_in == 9223372036854775808", "is no integer of 64 bits"),
            ("c_in is odd", "stands where true or false is wanted"),
            ("c_in|abs == 4", "the filter `abs`"),
            ("c_in.x == 4", "features have no fields such as `x`"),
            ("range(c_in) == 4", "no feature is called `range`"),
            ("c_in in kernel_h", "a list in brackets"),
            ("c_in ==", "is not an expression"),
            ("(c_in == 1) == 1", "true or false stands where a number is wanted"),
        ] {
            assert!(message(text).contains(want), "want {want} in {}", message(text));
        }
    }

    #[test]
    fn a_chain_is_one_list_and_has_an_end() {
        let chain = |n: usize| vec!["c_in>1"; n].join(" and ");
        let Test::All(tests) = chain(300).parse::<Predicate>().unwrap().test else { panic!("no list") };
        assert_eq!(tests.len(), 300);
        let mixed: Predicate = "c_in == 1 or (c_in == 2 or c_in == 3) and kernel_h == 1".parse().unwrap();
        let holds = |c_in, kernel_h| mixed.holds(|name| if name == "c_in" { c_in } else { kernel_h });
        assert!(holds(1, 9) && holds(2, 1) && holds(3, 1) && !holds(3, 2));
        assert_eq!(mixed.features(), ["c_in", "c_in", "c_in", "kernel_h"]);
        let long = chain(20_000).parse::<Predicate>().unwrap_err().to_string();
        assert!(long.contains("4096 are allowed"), "{long}");
    }

    #[test]
    fn text_and_back() {
        let predicate: Predicate = serde_json::from_str("\"kernel_h  ==  1\"").unwrap();
        assert_eq!(serde_json::to_string(&predicate).unwrap(), "\"kernel_h  ==  1\"");
        assert!(serde_json::from_str::<Predicate>("\"kernel_h\"").is_err());
    }
}
