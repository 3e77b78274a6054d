//! The table as one Rust file without dependencies and without `std`: constants, and `select`.

use std::fmt::Write as _;

use crate::matrix::predicate::Number;
use crate::matrix::{GridTerm, Shrink};
use crate::table::condition::{Comparison, Product, When};
use crate::table::measured::MeasuredRange;
use crate::table::schema::{Pack, Rule, Section, Table, TableRow};

use super::pool::{Pool, comment, identifier, test};

/// The steps of `table::query`, in Rust.
const ENGINE: &str = include_str!("engine.rs.txt");

pub fn rust(table: &Table) -> String {
    let pool = Pool::of(table);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = head(table, &mut text);
    text.push_str(ENGINE);
    let _ = accepts(table, &mut text);
    let _ = data(table, &pool, &mut text);
    text
}

fn head(table: &Table, out: &mut String) -> std::fmt::Result {
    let features: Vec<String> = table.features.iter().map(|f| field(f)).collect();
    let given: Vec<String> = table.given.iter().map(|g| field(g)).collect();
    writeln!(
        out,
        "// The dispatch table of kernel {}. Written by `tilesmith table` from results;",
        comment(&table.kernel)
    )?;
    writeln!(out, "// do not edit. Evidence and regret are in the JSON beside it.\n")?;
    writeln!(out, "/// The features of a case; what a query leaves out is zero.")?;
    writeln!(out, "#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]\npub struct Case {{")?;
    for feature in &features {
        writeln!(out, "    pub {feature}: i64,")?;
    }
    writeln!(out, "}}\n\nimpl Case {{\n    fn feature(&self, index: usize) -> i64 {{")?;
    let all: Vec<String> = features.iter().map(|f| format!("self.{f}")).collect();
    writeln!(out, "        let all: [i64; {}] = [{}];", all.len(), all.join(", "))?;
    writeln!(out, "        all.get(index).copied().unwrap_or(0)\n    }}\n}}\n")?;
    writeln!(
        out,
        "/// What the caller has decided.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub struct Given<'a> {{"
    )?;
    for axis in &given {
        writeln!(out, "    pub {axis}: &'a str,")?;
    }
    if given.is_empty() {
        writeln!(out, "    pub nothing: core::marker::PhantomData<&'a str>,")?;
    }
    let values: Vec<String> = given.iter().map(|g| format!("self.{g}")).collect();
    writeln!(out, "}}\n\nimpl<'a> Given<'a> {{\n    fn values(&self) -> [&'a str; N_GIVEN] {{")?;
    writeln!(out, "        [{}]\n    }}\n}}\n", values.join(", "))?;
    writeln!(out, "const N_GIVEN: usize = {};", given.len())
}

fn accepts(table: &Table, out: &mut String) -> std::fmt::Result {
    let Some(predicate) = &table.accepts else {
        return writeln!(
            out,
            "\n/// Whether the kernel computes such a case: any.\npub fn accepts(_case: &Case) -> bool {{\n    true\n}}"
        );
    };
    writeln!(out, "\n/// Whether the kernel computes such a case: `{}`.", comment(predicate.text()))?;
    writeln!(out, "#[rustfmt::skip]\n#[allow(clippy::all, unused_comparisons, unused_parens, unused_variables)]")?;
    writeln!(out, "pub fn accepts(case: &Case) -> bool {{\n    {}\n}}", test(predicate.test(), &number))
}

fn number(number: &Number) -> String {
    let call = |a: &Number, function: &str, b: String| format!("{}.{function}({b})", self::number(a));
    match number {
        Number::Constant(value) => format!("({value}_i64)"),
        Number::Feature(name) => format!("case.{}", field(name)),
        Number::Sum(a, b) => call(a, "saturating_add", self::number(b)),
        Number::Difference(a, b) => call(a, "saturating_sub", self::number(b)),
        Number::Product(a, b) => call(a, "saturating_mul", self::number(b)),
        Number::Quotient(a, by) => call(a, "div_euclid", by.to_string()),
        Number::Remainder(a, by) => call(a, "rem_euclid", by.to_string()),
    }
}

fn data(table: &Table, pool: &Pool<'_>, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n#[rustfmt::skip]\npub static ROWS: &[Row] = &[")?;
    for row in pool.rows() {
        writeln!(out, "    {},", row_text(pool, row))?;
    }
    writeln!(out, "];\n\n#[rustfmt::skip]\nstatic SECTIONS: &[Section] = &[")?;
    for (class, sections) in &table.classes {
        for section in sections.values() {
            section_text(table, pool, class, section, out)?;
        }
    }
    writeln!(out, "];\n\n#[rustfmt::skip]\nstatic DEVICES: &[DeviceRule] = &[")?;
    for rule in &table.devices {
        writeln!(
            out,
            "    DeviceRule {{ class: {}, vendor: {}, vendor_ids: &{:?}, vendor_drivers: &{:?}, drivers: &{:?}, names: &{}, subgroup_size: {} }},",
            literal(&rule.class),
            literal(&rule.vendor),
            rule.vendor_ids,
            rule.vendor_drivers,
            rule.drivers,
            list(&rule.names, |n| literal(n)),
            rule.subgroup_size
        )?;
    }
    writeln!(out, "];")
}

fn row_text(pool: &Pool<'_>, row: &TableRow) -> String {
    let terms = |terms: &[GridTerm]| {
        let term = |t: &GridTerm| {
            let of = pool.features(&Product(t.of.clone()));
            format!("Term {{ of: &{of:?}, per: {} }}", t.per.max(1))
        };
        format!("&{}", list(terms, term))
    };
    format!(
        "Row {{ variant: {}, axes: &{}, local: {:?}, shrink_to_grid: {}, grid: [{}, {}, {}], requires: &{}, spirv_hash: {} }}",
        literal(&row.variant),
        pairs(&row.axes),
        row.local,
        row.shrink == Shrink::ToGrid,
        terms(&row.grid.x),
        terms(&row.grid.y),
        terms(&row.grid.z),
        list(&row.requires, |r| literal(r)),
        literal(&row.spirv_hash)
    )
}

fn section_text(table: &Table, pool: &Pool<'_>, class: &str, section: &Section, out: &mut String) -> std::fmt::Result {
    let given = list(&table.given, |axis| literal(section.given.get(axis).map_or("", String::as_str)));
    writeln!(out, "    Section {{ class: {}, given: {given}, packs: &[", literal(class))?;
    for pack in &section.pack {
        let values = pairs(&pack.values);
        writeln!(out, "        Pack {{ when: &{}, values: &{values}, rules: &[", when(pool, &pack.when))?;
        for rule in &pack.dispatch {
            writeln!(out, "            {},", rule_text(pool, pack, rule))?;
        }
        let measured = ranges(pool, &pack.fallback.evidence.measured);
        writeln!(out, "        ], fallback: {}, fallback_measured: &{measured} }},", pool.index(&pack.fallback.row))?;
    }
    writeln!(out, "    ] }},")
}

fn rule_text(pool: &Pool<'_>, pack: &Pack, rule: &Rule) -> String {
    let (row, spares) = (pool.index(&rule.row), pool.spares(pack, rule));
    let measured = ranges(pool, &rule.evidence.measured);
    format!("Rule {{ when: &{}, row: {row}, spares: &{spares:?}, measured: &{measured} }}", when(pool, &rule.when))
}

fn ranges(pool: &Pool<'_>, measured: &MeasuredRange) -> String {
    list(&pool.ranges(measured), |(feature, [least, most])| {
        format!("Range {{ feature: {feature}, least: {least}, most: {most} }}")
    })
}

fn when(pool: &Pool<'_>, when: &When) -> String {
    list(&when.0, |c| {
        let at_least = c.comparison == Comparison::AtLeast;
        let product = pool.features(&c.product);
        format!("Condition {{ product: &{product:?}, at_least: {at_least}, bound: {} }}", c.bound)
    })
}

fn pairs(map: &std::collections::BTreeMap<String, String>) -> String {
    let all: Vec<_> = map.iter().collect();
    list(&all, |(axis, value)| format!("({}, {})", literal(axis), literal(value)))
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", "))
}

fn literal(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

fn field(name: &str) -> String {
    // `self`, `super`, `crate` and `Self` take no r#.
    identifier(name, KEYWORDS, |word| match word {
        "self" | "super" | "crate" | "Self" | "_" => format!("{word}_"),
        _ => format!("r#{word}"),
    })
}

const KEYWORDS: &[&str] = &[
    "Self", "_", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
