//! What the Rust and the C++ writer share: rows written once and named by index, features named by index,
//! field names that are no keyword.

use std::collections::BTreeMap;

use crate::matrix::predicate::{Number, Relation, Test};
use crate::table::condition::Product;
use crate::table::measured::MeasuredRange;
use crate::table::schema::{Pack, Rule, Table, TableRow};

/// All rows of a table, each once, in a fixed order.
pub struct Pool<'t> {
    table: &'t Table,
    rows: Vec<&'t TableRow>,
    index: BTreeMap<String, usize>,
}

impl<'t> Pool<'t> {
    pub fn of(table: &'t Table) -> Self {
        let mut all: BTreeMap<String, &TableRow> = BTreeMap::new();
        for pack in table.classes.values().flat_map(|c| c.values()).flat_map(|s| &s.pack) {
            let rules = pack.dispatch.iter().map(|r| &r.row);
            for row in rules.chain([&pack.fallback.row]).chain(pack.alternatives.values()) {
                all.insert(key(row), row);
            }
        }
        let index = all.keys().cloned().enumerate().map(|(i, k)| (k, i)).collect();
        Self { table, rows: all.into_values().collect(), index }
    }

    pub fn rows(&self) -> &[&'t TableRow] {
        &self.rows
    }

    pub fn index(&self, row: &TableRow) -> usize {
        self.index.get(&key(row)).copied().unwrap_or(0)
    }

    /// The rows to try when the rule's own cannot run, without the pack's fallback row.
    pub fn spares(&self, pack: &Pack, rule: &Rule) -> Vec<usize> {
        rule.row.fallback.iter().filter_map(|id| pack.alternatives.get(id)).map(|row| self.index(row)).collect()
    }

    /// Positions in the table's features. A feature that no case has counts as zero; its position is past the last.
    pub fn features(&self, product: &Product) -> Vec<usize> {
        let n_features = self.table.features.len();
        product.0.iter().map(|n| self.table.features.iter().position(|f| f == n).unwrap_or(n_features)).collect()
    }

    /// Position of the feature, smallest and largest value.
    pub fn ranges(&self, measured: &MeasuredRange) -> Vec<(usize, [i64; 2])> {
        let position = |name: &String| self.table.features.iter().position(|f| f == name);
        measured.0.iter().filter_map(|(name, range)| Some((position(name)?, *range))).collect()
    }
}

/// All that a row says, but for its fallback order, which belongs to the rule.
fn key(row: &TableRow) -> String {
    let bare = TableRow { fallback: Vec::new(), ..row.clone() };
    format!("{} {bare:?}", bare.id())
}

/// `name` as an identifier of both languages; `escape` makes a keyword harmless.
pub fn identifier(name: &str, keywords: &[&str], escape: impl Fn(&str) -> String) -> String {
    let mut word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if word.bytes().next().is_none_or(|b| b.is_ascii_digit()) {
        word.insert(0, '_');
    }
    if keywords.contains(&word.as_str()) { escape(&word) } else { word }
}

/// A condition over a case, which both languages write alike but for its numbers.
pub fn test(test: &Test, number: &impl Fn(&Number) -> String) -> String {
    let joined = |tests: &[Test], with: &str| {
        let tests: Vec<String> = tests.iter().map(|t| self::test(t, number)).collect();
        format!("({})", tests.join(with))
    };
    match test {
        Test::Compare(left, relation, right) => {
            format!("({} {} {})", number(left), relation_sign(*relation), number(right))
        }
        Test::All(tests) if tests.is_empty() => "true".to_owned(),
        Test::Any(tests) if tests.is_empty() => "false".to_owned(),
        Test::All(tests) => joined(tests, " && "),
        Test::Any(tests) => joined(tests, " || "),
        Test::Not(inner) => format!("(!{})", self::test(inner, number)),
    }
}

fn relation_sign(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "==",
        Relation::Unequal => "!=",
        Relation::Below => "<",
        Relation::AtMost => "<=",
        Relation::Above => ">",
        Relation::AtLeast => ">=",
    }
}

/// One line of text that may stand in a comment.
pub fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
