//! The table as one C++17 header without dependencies: constexpr data, and `select`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::matrix::predicate::Number;
use crate::matrix::{GridTerm, Shrink};
use crate::table::condition::{Comparison, Product, When};
use crate::table::measured::MeasuredRange;
use crate::table::schema::{Section, Table, TableRow};

use super::pool::{Pool, comment, identifier, test};

/// The types, and the steps of `table::query`, in C++. The data stands between the two.
const TYPES: &str = include_str!("engine.hpp.txt");
const DETAIL: &str = include_str!("engine_detail.hpp.txt");
const SELECT: &str = include_str!("engine_select.hpp.txt");

pub fn cpp(table: &Table) -> String {
    let pool = Pool::of(table);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = head(table, &mut text);
    text.push_str(TYPES);
    text.push_str(&data(table, &pool));
    text.push_str(DETAIL);
    let _ = accepts(table, &mut text);
    text.push_str(SELECT);
    let _ = writeln!(text, "\n}}  // namespace tilesmith::{}", field(&table.kernel));
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
    writeln!(out, "// do not edit. Evidence and regret are in the JSON beside it.\n#pragma once\n")?;
    for header in ["array", "cstddef", "cstdint", "limits", "optional", "string_view"] {
        writeln!(out, "#include <{header}>")?;
    }
    writeln!(out, "\nnamespace tilesmith::{} {{\n", field(&table.kernel))?;
    writeln!(out, "// The features of a case; what a query leaves out is zero.\nstruct Case {{")?;
    for feature in &features {
        writeln!(out, "  std::int64_t {feature} = 0;")?;
    }
    writeln!(out, "}};\n\n// What the caller has decided.\nstruct Given {{")?;
    for axis in &given {
        writeln!(out, "  std::string_view {axis}{{}};")?;
    }
    let values: Vec<String> = given.iter().map(|g| format!("given.{g}")).collect();
    writeln!(out, "}};\n\ninline constexpr std::size_t n_given = {};\n", given.len())?;
    writeln!(
        out,
        "constexpr std::array<std::string_view, n_given> given_values([[maybe_unused]] const Given& given) {{"
    )?;
    let open = if values.is_empty() { "{}".to_owned() } else { format!("{{{{{}}}}}", values.join(", ")) };
    writeln!(out, "  return {open};\n}}\n")?;
    writeln!(
        out,
        "constexpr std::int64_t feature([[maybe_unused]] const Case& c, std::size_t index) {{\n  switch (index) {{"
    )?;
    for (i, feature) in features.iter().enumerate() {
        writeln!(out, "    case {i}: return c.{feature};")?;
    }
    writeln!(out, "    default: return 0;\n  }}\n}}")
}

fn accepts(table: &Table, out: &mut String) -> std::fmt::Result {
    let (what, condition) = match &table.accepts {
        None => ("any".to_owned(), "true".to_owned()),
        Some(predicate) => (comment(predicate.text()), test(predicate.test(), &number)),
    };
    writeln!(out, "\n// Whether the kernel computes such a case: {what}.")?;
    writeln!(out, "constexpr bool accepts([[maybe_unused]] const Case& c) {{\n  return {condition};\n}}")
}

fn number(number: &Number) -> String {
    let call = |function: &str, a: &Number, b: String| format!("detail::{function}({}, {b})", self::number(a));
    match number {
        Number::Constant(value) => format!("std::int64_t{{{value}}}"),
        Number::Feature(name) => format!("c.{}", field(name)),
        Number::Sum(a, b) => call("add", a, self::number(b)),
        Number::Difference(a, b) => call("subtract", a, self::number(b)),
        Number::Product(a, b) => call("multiply", a, self::number(b)),
        Number::Quotient(a, by) => call("div_floor", a, by.to_string()),
        Number::Remainder(a, by) => call("rem_floor", a, by.to_string()),
    }
}

/// Named constexpr arrays, each content once, in the order in which they need each other.
#[derive(Default)]
struct Arrays {
    names: BTreeMap<(String, String), String>,
    text: String,
}

impl Arrays {
    /// A `List` over an array of `items`; a `List` of nothing where there are none, which no C++ array may be.
    fn list(&mut self, ty: &str, items: &[String]) -> String {
        if items.is_empty() {
            return "{}".to_owned();
        }
        let body = items.join(", ");
        let next = format!("a{}", self.names.len());
        let name = self.names.entry((ty.to_owned(), body.clone())).or_insert_with(|| {
            let _ = writeln!(self.text, "inline constexpr {ty} {next}[] = {{{body}}};");
            next
        });
        format!("{{{name}, {}}}", items.len())
    }

    fn numbers<T: ToString>(&mut self, ty: &str, items: &[T]) -> String {
        let items: Vec<String> = items.iter().map(T::to_string).collect();
        self.list(ty, &items)
    }

    fn texts(&mut self, items: &[String]) -> String {
        let items: Vec<String> = items.iter().map(|i| literal(i)).collect();
        self.list("std::string_view", &items)
    }

    fn pairs(&mut self, map: &BTreeMap<String, String>) -> String {
        let items: Vec<String> = map.iter().map(|(a, v)| format!("{{{}, {}}}", literal(a), literal(v))).collect();
        self.list("AxisValue", &items)
    }

    fn when(&mut self, pool: &Pool<'_>, when: &When) -> String {
        let condition = |c: &crate::table::condition::Condition, arrays: &mut Arrays| {
            let product = arrays.numbers("std::size_t", &pool.features(&c.product));
            format!("{{{product}, {}, {}u}}", c.comparison == Comparison::AtLeast, c.bound)
        };
        let items: Vec<String> = when.0.iter().map(|c| condition(c, self)).collect();
        self.list("Condition", &items)
    }

    fn ranges(&mut self, pool: &Pool<'_>, measured: &MeasuredRange) -> String {
        let range = |(at, [least, most]): (usize, [i64; 2])| format!("{{{at}, {least}, {most}}}");
        let items: Vec<String> = pool.ranges(measured).into_iter().map(range).collect();
        self.list("Range", &items)
    }

    fn terms(&mut self, pool: &Pool<'_>, terms: &[GridTerm]) -> String {
        let term = |t: &GridTerm, arrays: &mut Arrays| {
            let of = arrays.numbers("std::size_t", &pool.features(&Product(t.of.clone())));
            format!("{{{of}, {}u}}", t.per.max(1))
        };
        let items: Vec<String> = terms.iter().map(|t| term(t, self)).collect();
        self.list("Term", &items)
    }
}

fn data(table: &Table, pool: &Pool<'_>) -> String {
    let mut arrays = Arrays::default();
    let rows: Vec<String> = pool.rows().iter().map(|r| row_text(pool, r, &mut arrays)).collect();
    let mut sections = Vec::new();
    for (class, of_class) in &table.classes {
        for section in of_class.values() {
            sections.push(section_text(table, pool, class, section, &mut arrays));
        }
    }
    let devices: Vec<String> = table
        .devices
        .iter()
        .map(|rule| {
            let ids = arrays.numbers("std::uint32_t", &rule.vendor_ids);
            let vendor_drivers = arrays.numbers("std::uint32_t", &rule.vendor_drivers);
            let drivers = arrays.numbers("std::uint32_t", &rule.drivers);
            let names = arrays.texts(&rule.names);
            let (class, vendor) = (literal(&rule.class), literal(&rule.vendor));
            format!("{{{class}, {vendor}, {ids}, {vendor_drivers}, {drivers}, {names}, {}u}}", rule.subgroup_size)
        })
        .collect();
    let mut text = arrays.text;
    for (ty, name, items) in
        [("Row", "rows", rows), ("Section", "sections", sections), ("DeviceRule", "device_rules", devices)]
    {
        if items.is_empty() {
            let _ = writeln!(text, "\ninline constexpr List<{ty}> {name}{{}};");
            continue;
        }
        let _ = writeln!(text, "\ninline constexpr {ty} all_{name}[] = {{\n    {},\n}};", items.join(",\n    "));
        let _ = writeln!(text, "inline constexpr List<{ty}> {name}{{all_{name}, {}}};", items.len());
    }
    text
}

fn row_text(pool: &Pool<'_>, row: &TableRow, arrays: &mut Arrays) -> String {
    let axes = arrays.pairs(&row.axes);
    let grid = [&row.grid.x, &row.grid.y, &row.grid.z].map(|terms| arrays.terms(pool, terms));
    let requires = arrays.texts(&row.requires);
    let [x, y, z] = row.local;
    format!(
        "{{{}, {axes}, {{{x}u, {y}u, {z}u}}, {}, {{{{{}}}}}, {requires}, {}}}",
        literal(&row.variant),
        row.shrink == Shrink::ToGrid,
        grid.map(|g| format!("List<Term>{g}")).join(", "),
        literal(&row.spirv_hash)
    )
}

fn section_text(table: &Table, pool: &Pool<'_>, class: &str, section: &Section, arrays: &mut Arrays) -> String {
    let mut packs = Vec::new();
    for pack in &section.pack {
        let mut rules = Vec::new();
        for rule in &pack.dispatch {
            let when = arrays.when(pool, &rule.when);
            let spares = arrays.numbers("std::size_t", &pool.spares(pack, rule));
            let measured = arrays.ranges(pool, &rule.evidence.measured);
            rules.push(format!("{{{when}, {}, {spares}, {measured}}}", pool.index(&rule.row)));
        }
        let (when, values) = (arrays.when(pool, &pack.when), arrays.pairs(&pack.values));
        let rules = arrays.list("Rule", &rules);
        let measured = arrays.ranges(pool, &pack.fallback.evidence.measured);
        packs.push(format!("{{{when}, {values}, {rules}, {}, {measured}}}", pool.index(&pack.fallback.row)));
    }
    let packs = arrays.list("Pack", &packs);
    let value = |axis: &String| literal(section.given.get(axis).map_or("", String::as_str));
    let given: Vec<String> = table.given.iter().map(value).collect();
    let given = if given.is_empty() { "{}".to_owned() } else { format!("{{{{{}}}}}", given.join(", ")) };
    format!("{{{}, {given}, {packs}}}", literal(class))
}

/// Octal escapes have a fixed length, so no following character can be taken into one.
fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}

fn field(name: &str) -> String {
    identifier(name, KEYWORDS, |word| format!("{word}_"))
}

const KEYWORDS: &[&str] = &[
    "_",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];
