//! The sweep file: which kernel, cases, candidates and rules. Reads and checks what a person wrote, and
//! says where it is wrong; must not expand or compile.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::matrix::Scalar;
use crate::matrix::document::{self, Content, Document, FileError, Node, Place, display_name};
use crate::matrix::suggestion::{did_you_mean, join_names};
use crate::ops::case::{CaseError, parse_value};
use crate::ops::{Case, FIELDS, Fields};
use crate::results;
use crate::worker::bundle::Rules;

const SCHEMA: i64 = 1;
/// So that `-validated-part` and a number still fit what results may be called.
const MAX_NAME_CHARS: usize = 80;
/// Fixed, so that two runs of one sweep file ask the same questions; `seed:` in the file changes it.
const DEFAULT_SEED: u64 = 0x7469_6c65_736d_6974;
/// Rows of a CSV: more are a slip.
const MAX_CASES: usize = 100_000;

#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum SweepFileError {
    #[error("{path}: cannot read the sweep file: {source}{hint}")]
    Unreadable { path: String, source: std::io::Error, hint: String },
    #[error(
        "{path}: the results of a sweep file called {name:?} could not be saved: the name {why} (rename the file, such as to {proposal}.yaml)"
    )]
    Name { path: String, name: String, why: String, proposal: String },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<FileError>),
    #[error("{path}: cannot read the cases: {source} (named in {sweep})")]
    Csv { path: String, sweep: String, source: std::io::Error },
    #[error("{path}:{line}: {message}")]
    CsvRow { path: String, line: u64, message: String },
}

/// A case with its place in the file, for errors that only the kernel can find.
#[derive(Debug, Clone)]
pub struct FileCase {
    pub case: Case,
    pub count: f64,
    /// Such as `sweeps/quick.yaml:6` or `sweeps/shapes/pw57.csv:12`.
    pub at: String,
}

/// Which candidates: an expression over the axes, a pairwise cover, or both.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    pub keep: Option<(String, Place)>,
    /// At most so many candidates, and every pair of values in one of them.
    pub cover_max: Option<(usize, Place)>,
}

#[derive(Debug, Clone)]
pub struct SweepFile {
    /// Stem of the file's name; names the results.
    pub name: String,
    pub document: Document,
    pub kernel: (String, Place),
    /// Empty: the kernel's op was not known when the file was read.
    pub cases: Vec<FileCase>,
    /// Partial or full `given` values; `None` for all classes.
    pub given: Option<Vec<(IndexMap<String, String>, Place)>>,
    pub candidates: Candidates,
    pub local: Option<Vec<[u32; 3]>>,
    pub rules: Rules,
    pub seed: u64,
}

/// Reads a sweep file. `op_of` names the op of a kernel, or the error's list of kernels when there is none.
pub fn load(
    path: &Path,
    project: &Path,
    op_of: impl Fn(&str) -> Result<String, Vec<String>>,
) -> Result<SweepFile, SweepFileError> {
    let (name, document) = read_document(path, project)?;
    read(&name, document, path.parent().unwrap_or(Path::new(".")), project, op_of)
}

/// A sweep file's name and what stands in it.
pub(super) fn read_document(path: &Path, project: &Path) -> Result<(String, Document), SweepFileError> {
    let shown = display_name(path);
    let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let unreadable = |source: std::io::Error| {
        let hint = if source.kind() == std::io::ErrorKind::NotFound { known_sweeps(project) } else { String::new() };
        SweepFileError::Unreadable { path: shown.clone(), source, hint }
    };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    check_name(&shown, &name)?;
    Ok((name, Document::parse(&shown, &text)?))
}

/// The name of the file names the results: better refused now than after the hours of measuring.
fn check_name(shown: &str, name: &str) -> Result<(), SweepFileError> {
    let stem = name.strip_suffix(results::PART).unwrap_or(name);
    let why = if stem != name {
        format!("ends in {}, which marks sweeps that are not complete", results::PART)
    } else if name.chars().count() > MAX_NAME_CHARS {
        format!("has more than {MAX_NAME_CHARS} characters")
    } else if results::RESERVED.contains(&name) {
        format!("is that of a file beside results: {}", results::RESERVED.join(", "))
    } else if !results::is_sweep_name(name) {
        "may hold ascii letters, digits, `_`, `-` and `.`, the last not first".to_owned()
    } else {
        return Ok(());
    };
    let fit = |c: char| if results::is_sweep_name(&format!("a{c}")) { c } else { '_' };
    let proposal: String = stem.trim_start_matches('.').chars().map(fit).take(MAX_NAME_CHARS).collect();
    let is_reserved = results::RESERVED.contains(&proposal.as_str());
    let proposal = if is_reserved { format!("{proposal}-sweep") } else { proposal };
    let proposal = if proposal.is_empty() { "sweep".to_owned() } else { proposal };
    Err(SweepFileError::Name { path: shown.to_owned(), name: name.to_owned(), why, proposal })
}

fn known_sweeps(project: &Path) -> String {
    let entries = std::fs::read_dir(project.join("sweeps")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| n.ends_with(".yaml")).collect();
    names.sort();
    if names.is_empty() { String::new() } else { format!(" (sweeps here: {})", names.join(", ")) }
}

/// The same from what stands in it.
pub fn read(
    name: &str,
    document: Document,
    folder: &Path,
    project: &Path,
    op_of: impl Fn(&str) -> Result<String, Vec<String>>,
) -> Result<SweepFile, SweepFileError> {
    let keys = ["schema", "kernel", "cases", "given", "candidates", "local", "rounds", "stop", "verify", "tie", "seed"];
    let top = document.fields(&document.root, "the sweep", &keys)?;
    check_schema(&document, &top)?;
    let kernel_node = top.require("kernel")?;
    let kernel = document.text(kernel_node, "kernel")?;
    let op = op_of(&kernel).map_err(|known| {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        document.unknown(kernel_node.place, format!("there is no kernel `{kernel}`"), &kernel, &known)
    })?;
    let cases_node = top.require("cases")?;
    let cases = read_cases(&document, cases_node, &op, folder, project)?;
    let given = top.get("given").map(|node| read_given(&document, node)).transpose()?;
    let candidates =
        top.get("candidates").map(|node| read_candidates(&document, node)).transpose()?.unwrap_or_default();
    let local = top.get("local").map(|node| read_local(&document, node)).transpose()?;
    let seed = read_seed(&document, &top)?;
    let rules = read_rules(&document, &top)?;
    Ok(SweepFile {
        name: name.to_owned(),
        kernel: (kernel, kernel_node.place),
        cases,
        given,
        candidates,
        local,
        rules,
        seed,
        document: document.clone(),
    })
}

pub(super) fn check_schema(document: &Document, top: &document::Fields<'_>) -> Result<(), Box<FileError>> {
    let schema = top.require("schema")?;
    match document.scalar(schema, "schema")? {
        Scalar::Int(SCHEMA) => Ok(()),
        other => {
            let message = format!("schema is {other}, and this tilesmith reads schema {SCHEMA}");
            Err(document.error(schema.place, message))
        }
    }
}

pub(super) fn read_seed(document: &Document, top: &document::Fields<'_>) -> Result<u64, Box<FileError>> {
    match top.get("seed") {
        None => Ok(DEFAULT_SEED),
        Some(node) => match document.scalar(node, "seed")? {
            Scalar::Int(value) if *value >= 0 => Ok(*value as u64),
            other => Err(document.error(node.place, format!("seed must be an integer of at least 0, not `{other}`"))),
        },
    }
}

fn read_cases(
    document: &Document,
    node: &Node,
    op: &str,
    folder: &Path,
    project: &Path,
) -> Result<Vec<FileCase>, SweepFileError> {
    let cases = match &node.content {
        Content::Map(_) => {
            let fields = document.fields(node, "cases", &["csv"])?;
            let csv = fields.require("csv")?;
            let given = PathBuf::from(document.text(csv, "csv")?);
            let places = [folder.join(&given), project.join(&given), given.clone()];
            let Some(path) = places.iter().find(|p| p.is_file()) else {
                let looked = join_names(&places[..2].iter().map(|p| display_name(p)).collect::<Vec<_>>());
                let message = format!("there is no file {} (looked for {looked})", given.display());
                return Err(document.error(csv.place, message).into());
            };
            read_csv(path, op, &document.source.name)?
        }
        Content::List(items) => {
            let mut cases: Vec<FileCase> = Vec::new();
            for item in items {
                let mut count = 1.0;
                let mut given = Fields::new();
                for (key, value) in document.entries(item, "a case")? {
                    let text = document.text(value, &key.name)?;
                    if key.name == "count" {
                        count = parse_count(&text).map_err(|message| document.error(value.place, message))?;
                    } else {
                        let parsed =
                            parse_value(&key.name, &text).map_err(|e| document.error(value.place, e.to_string()))?;
                        given.insert(key.name.clone(), parsed);
                    }
                }
                let case = Case::new(op, &given).map_err(|e| document.error(place_of(item, &e), e.to_string()))?;
                let at = format!("{}:{}", document.source.name, item.place.line);
                if let Some(first) = cases.iter().find(|c| c.case.id == case.id) {
                    let message = format!("case {} stands here a second time (first at {})", case.id, first.at);
                    return Err(document.error(item.place, message).into());
                }
                cases.push(FileCase { case, count, at });
            }
            cases
        }
        other => {
            let message = format!("cases must be a list, or a mapping with the key csv, not {}", other.describe());
            return Err(document.error(node.place, message).into());
        }
    };
    if cases.is_empty() {
        return Err(document.error(node.place, "the sweep has no cases").into());
    }
    Ok(cases)
}

/// Where the fault of a case stands: the field that is wrong, else the case.
fn place_of(item: &Node, error: &CaseError) -> Place {
    let entries = if let Content::Map(entries) = &item.content { &entries[..] } else { &[] };
    let entry = |field: &str| entries.iter().find(|(key, _)| key.name == field);
    let place = match error {
        CaseError::UnknownField { field, .. } => entry(field).map(|(key, _)| key.place),
        CaseError::TooSmall { field, .. } | CaseError::TooLarge { field, .. } => {
            entry(field).map(|(_, value)| value.place)
        }
        CaseError::Activation { .. } => entry("activation").map(|(_, value)| value.place),
        CaseError::Groups { .. } => entry("groups").map(|(_, value)| value.place),
        _ => None,
    };
    place.unwrap_or(item.place)
}

fn parse_count(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(count) if count.is_finite() && count > 0.0 => Ok(count),
        _ => Err(format!("count is `{text}` (allowed: a number above 0)")),
    }
}

fn read_csv(path: &Path, op: &str, sweep: &str) -> Result<Vec<FileCase>, SweepFileError> {
    let shown = display_name(path);
    let at_line = |line: u64, message: String| SweepFileError::CsvRow { path: shown.clone(), line, message };
    let csv_failed = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        match error.into_kind() {
            csv::ErrorKind::Io(source) => SweepFileError::Csv { path: shown.clone(), sweep: sweep.to_owned(), source },
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                at_line(line, format!("{len} cells where the header has {expected_len}"))
            }
            csv::ErrorKind::Utf8 { err, .. } => at_line(line, format!("cell {} is not UTF-8", err.field() + 1)),
            other => at_line(line, format!("{other:?}")),
        }
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path).map_err(csv_failed)?;
    let header = reader.headers().map_err(csv_failed)?.clone();
    let fields: &[&str] = FIELDS.iter().find(|(name, _)| *name == op).map_or(&[], |(_, fields)| fields);
    for (at, column) in header.iter().enumerate() {
        if header.iter().take(at).any(|earlier| earlier == column) {
            return Err(at_line(1, format!("column {column} occurs twice")));
        }
        // Columns of a person's own are fine, misspelt ones are not: their values would be lost silently.
        if !fields.contains(&column)
            && column != "count"
            && let Some(hint) = did_you_mean(column, fields)
        {
            return Err(at_line(
                1,
                format!("column {column} is no field of {op} ({hint} fields: {})", fields.join(", ")),
            ));
        }
    }
    let mut cases: Vec<FileCase> = Vec::new();
    let mut seen: std::collections::HashMap<String, String> = std::collections::HashMap::new();
    for record in reader.records() {
        let record = record.map_err(csv_failed)?;
        let line = record.position().map_or(0, csv::Position::line);
        if cases.len() == MAX_CASES {
            return Err(at_line(line, format!("more than {MAX_CASES} cases")));
        }
        let mut given = Fields::new();
        let mut count = 1.0;
        for (column, cell) in header.iter().zip(record.iter()) {
            if column == "count" {
                count = parse_count(cell).map_err(|message| at_line(line, message))?;
            } else if fields.contains(&column) {
                given.insert(column.to_owned(), parse_value(column, cell).map_err(|e| at_line(line, e.to_string()))?);
            }
        }
        let case = Case::new(op, &given).map_err(|e| match e {
            crate::ops::CaseError::MissingField { field, .. } => {
                let columns = join_names(&header.iter().collect::<Vec<_>>());
                at_line(1, format!("column {field} is missing (columns here: {columns}; {op} needs it)"))
            }
            other => at_line(line, other.to_string()),
        })?;
        let at = format!("{shown}:{line}");
        if let Some(first) = seen.insert(case.id.clone(), at.clone()) {
            let message = format!(
                "case {} stands here a second time (first at {first}; a column count weights a shape)",
                case.id
            );
            return Err(at_line(line, message));
        }
        cases.push(FileCase { case, count, at });
    }
    if cases.is_empty() {
        return Err(at_line(1, "no cases here: each is a row below the header".to_owned()));
    }
    Ok(cases)
}

type GivenValues = Vec<(IndexMap<String, String>, Place)>;

fn read_given(document: &Document, node: &Node) -> Result<GivenValues, Box<FileError>> {
    let items = document.list(node, "given")?;
    if items.is_empty() {
        return Err(document.error(node.place, "given is empty (leave it out to sweep every class)"));
    }
    let one = |item: &Node| {
        let entries = document.entries(item, "an entry of given")?;
        let value = |(key, value): &(crate::matrix::document::Key, Node)| {
            Ok((key.name.clone(), document.text(value, &key.name)?))
        };
        let values: Result<IndexMap<String, String>, Box<FileError>> = entries.iter().map(value).collect();
        Ok((values?, item.place))
    };
    items.iter().map(one).collect()
}

fn read_candidates(document: &Document, node: &Node) -> Result<Candidates, Box<FileError>> {
    if let Content::Scalar(_) = node.content {
        return Ok(Candidates { keep: Some((document.text(node, "candidates")?, node.place)), cover_max: None });
    }
    let fields = document.fields(node, "candidates", &["where", "cover", "max"])?;
    let keep = match fields.get("where") {
        Some(node) => Some((document.text(node, "where")?, node.place)),
        None => None,
    };
    let cover_max = match (fields.get("cover"), fields.get("max")) {
        (Some(cover), max) => {
            document.choice(cover, "cover", &[("pairs", ())])?;
            let Some(max) = max else {
                return Err(
                    document.error(cover.place, "cover needs the key max beside it: at most so many candidates")
                );
            };
            Some((document.integer(max, "max", 1)? as usize, max.place))
        }
        (None, Some(max)) => return Err(document.error(max.place, "max needs the key cover beside it (cover: pairs)")),
        (None, None) => None,
    };
    if keep.is_none() && cover_max.is_none() {
        return Err(document.error(node.place, "candidates is empty (leave it out to sweep all)"));
    }
    Ok(Candidates { keep, cover_max })
}

fn read_local(document: &Document, node: &Node) -> Result<Vec<[u32; 3]>, Box<FileError>> {
    let mut sizes: Vec<[u32; 3]> = Vec::new();
    for item in document.list(node, "local")? {
        let size = read_local_size(document, item)?;
        if sizes.contains(&size) {
            return Err(document.error(item.place, format!("local size {size:?} stands here a second time")));
        }
        sizes.push(size);
    }
    if sizes.is_empty() {
        return Err(document.error(node.place, "local is empty (leave it out to use the kernel's sizes)"));
    }
    Ok(sizes)
}

pub(super) fn read_local_size(document: &Document, node: &Node) -> Result<[u32; 3], Box<FileError>> {
    let list = document.list(node, "a local size")?;
    let [x, y, z] = list else {
        return Err(document.error(node.place, format!("a local size has 3 numbers, not {}", list.len())));
    };
    Ok([document.integer(x, "x", 1)?, document.integer(y, "y", 1)?, document.integer(z, "z", 1)?])
}

/// Replays of a finalist by default: a fault of p = 0.01 shows in them with a probability of 0.993.
pub const FINALIST_REPLAYS: u32 = 500;

/// Replays in the admission of a candidate: they run in one submission, beside other checks.
const MAX_REPLAYS: u32 = 128;
/// A fault of 1 in 10,000 shows in these with a probability of 0.99995; they are one order, which an end of the sweep loses.
const MAX_FINALIST_REPLAYS: u32 = 100_000;

pub(super) fn read_rules(document: &Document, top: &document::Fields<'_>) -> Result<Rules, Box<FileError>> {
    let mut rules = Rules {
        min_rounds: 5,
        max_rounds: 15,
        block: 32,
        sample_ns: 1_000_000,
        within: 2.0,
        interval: 0.02,
        wall_s: None,
        tie: 0.03,
        replays: 4,
        finalist_replays: FINALIST_REPLAYS,
        max_finalists: 8,
    };
    let integer = |node: Option<&Node>, what: &str, low: u32, into: &mut u32| -> Result<(), Box<FileError>> {
        if let Some(node) = node {
            *into = document.integer(node, what, low)?;
        }
        Ok(())
    };
    if let Some(node) = top.get("rounds") {
        let fields = document.fields(node, "rounds", &["min", "max", "block", "sample", "within"])?;
        integer(fields.get("min"), "min", 1, &mut rules.min_rounds)?;
        integer(fields.get("max"), "max", 1, &mut rules.max_rounds)?;
        // One candidate beside the incumbent, or nothing is compared.
        integer(fields.get("block"), "block", 2, &mut rules.block)?;
        if rules.max_rounds < rules.min_rounds {
            let place = fields.get("max").or(fields.get("min")).unwrap_or(node).place;
            let (min, max) = (rules.min_rounds, rules.max_rounds);
            return Err(document.error(place, format!("at most {max} rounds are fewer than at least {min}")));
        }
        if let Some(node) = fields.get("sample") {
            rules.sample_ns = duration_ns(document, node, "sample")?;
        }
        if let Some(node) = fields.get("within") {
            rules.within = match document.scalar(node, "within")? {
                Scalar::Int(v) if *v >= 1 => *v as f64,
                Scalar::Float(v) if v.is_finite() && *v >= 1.0 => *v,
                other => {
                    return Err(
                        document.error(node.place, format!("within must be a factor of at least 1, not `{other}`"))
                    );
                }
            };
        }
    }
    if let Some(node) = top.get("stop") {
        let fields = document.fields(node, "stop", &["interval", "wall"])?;
        if let Some(node) = fields.get("interval") {
            rules.interval = share(document, node, "interval")?;
        }
        if let Some(node) = fields.get("wall") {
            rules.wall_s = Some(duration_ns(document, node, "wall")? as f64 / 1e9);
        }
    }
    if let Some(node) = top.get("verify") {
        let fields = document.fields(node, "verify", &["replays", "finalist_replays", "max_finalists"])?;
        // Two operand sets alternate, so one replay would test half.
        integer(fields.get("replays"), "replays", 2, &mut rules.replays)?;
        integer(fields.get("finalist_replays"), "finalist_replays", 2, &mut rules.finalist_replays)?;
        for (key, replays, max) in [
            ("replays", rules.replays, MAX_REPLAYS),
            ("finalist_replays", rules.finalist_replays, MAX_FINALIST_REPLAYS),
        ] {
            if replays > max {
                let place = fields.get(key).unwrap_or(node).place;
                return Err(document.error(place, format!("{key} is {replays} (allowed: 2 to {max})")));
            }
        }
        integer(fields.get("max_finalists"), "max_finalists", 1, &mut rules.max_finalists)?;
    }
    if let Some(node) = top.get("tie") {
        rules.tie = share(document, node, "tie")?;
    }
    Ok(rules)
}

/// `3%` or `0.03`.
fn share(document: &Document, node: &Node, what: &str) -> Result<f64, Box<FileError>> {
    let text = document.text(node, what)?;
    let value = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|v| v / 100.0),
        None => text.trim().parse::<f64>(),
    };
    match value {
        Ok(value) if (0.0..1.0).contains(&value) => Ok(value),
        _ => {
            Err(document
                .error(node.place, format!("{what} is `{text}` (allowed: a share such as 3% or 0.03, below 1)")))
        }
    }
}

fn duration_ns(document: &Document, node: &Node, what: &str) -> Result<u64, Box<FileError>> {
    let text = document.text(node, what)?;
    parse_duration_ns(&text).map_err(|message| document.error(node.place, format!("{what} is {message}")))
}

/// `200us`, `1ms`, `90s`, `8m`, `1.5h`; the message on anything else.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 6] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit_ns = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, ns)| *ns);
    match (number.parse::<f64>(), unit_ns) {
        // A thousand hours is no sweep, and far below what 64 bits hold.
        (Ok(n), Some(unit_ns)) if n > 0.0 && n * unit_ns >= 1.0 && n * unit_ns <= 3.6e15 => {
            Ok((n * unit_ns).round() as u64)
        }
        _ => Err(format!("`{text}` (allowed: a number above 0 with ns, us, ms, s, m or h, such as 1ms or 8m)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Result<SweepFile, SweepFileError> {
        let op_of = |kernel: &str| {
            if kernel == "conv2d_pw" { Ok("conv2d".to_owned()) } else { Err(vec!["conv2d_pw".to_owned()]) }
        };
        read("t", Document::parse("t.yaml", text)?, Path::new("."), Path::new("."), op_of)
    }

    const HEAD: &str = "schema: 1\nkernel: conv2d_pw\ncases: [{c_in: 8, c_out: 4, h: 2, w: 3}]\n";

    #[test]
    fn durations_and_shares() {
        assert_eq!(parse_duration_ns("1ms"), Ok(1_000_000));
        assert_eq!(parse_duration_ns("200us"), Ok(200_000));
        assert_eq!(parse_duration_ns("8m"), Ok(480_000_000_000));
        assert_eq!(parse_duration_ns("1.5 s"), Ok(1_500_000_000));
        for bad in ["", "5", "0ms", "-1s", "1 day", "ms", "1e3s", "99999999h", "0.1ns"] {
            assert!(parse_duration_ns(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn everything_a_file_may_say() {
        let text = "given: [{storage: f16}]\ncandidates: {where: \"bounds != 'guarded'\", cover: pairs, max: 9}\n\
                    local: [[8, 8, 1], [64, 1, 1]]\nrounds: {min: 3, max: 9, block: 16, sample: 200us, within: 1.5}\n\
                    stop: {interval: 2%, wall: 8m}\nverify: {replays: 6, finalist_replays: 50, max_finalists: 2}\n\
                    tie: 0.05\nseed: 9\n";
        let file = parse_text(&format!("{HEAD}{text}")).unwrap();
        let rules = &file.rules;
        assert_eq!((rules.min_rounds, rules.max_rounds, rules.block, rules.sample_ns), (3, 9, 16, 200_000));
        assert_eq!((rules.within, rules.interval, rules.wall_s, rules.tie), (1.5, 0.02, Some(480.0), 0.05));
        assert_eq!((rules.replays, rules.finalist_replays, rules.max_finalists, file.seed), (6, 50, 2, 9));
        assert_eq!(file.local, Some(vec![[8, 8, 1], [64, 1, 1]]));
        assert_eq!(file.given.unwrap()[0].0["storage"], "f16");
        assert_eq!(file.candidates.cover_max.unwrap().0, 9);
        assert_eq!(file.candidates.keep.unwrap().0, "bounds != 'guarded'");
        assert_eq!(file.cases[0].case.id, "8-4-2x3");
    }

    #[test]
    fn more_replays_than_one_order_can_bear_are_refused() {
        let says =
            |rules: &str| parse_text(&format!("{HEAD}verify: {{{rules}}}\n")).map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(says("replays: 128, finalist_replays: 100000"), Ok(()));
        let error = says("finalist_replays: 10000000").unwrap_err();
        assert!(error.contains("finalist_replays is 10000000 (allowed: 2 to 100000)"), "{error}");
        assert!(says("replays: 129").unwrap_err().contains("replays is 129 (allowed: 2 to 128)"));
    }

    #[test]
    fn a_name_that_results_cannot_have_is_refused_with_one_that_they_can() {
        let proposal = |name: &str| match check_name("sweeps/x.yaml", name) {
            Err(SweepFileError::Name { proposal, .. }) => proposal,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(proposal("my sweep ä"), "my_sweep__");
        assert_eq!(proposal("quick-part"), "quick");
        assert_eq!(proposal("a@2"), "a_2");
        assert_eq!(proposal("bugs"), "bugs-sweep");
        assert_eq!(proposal(".yaml"), "yaml");
        assert_eq!(proposal(&"x".repeat(81)), "x".repeat(80));
        assert_eq!(proposal(""), "sweep");
        assert!(["quick", "pw57.v2", "a-b_c"].iter().all(|name| check_name("x", name).is_ok()));
        // It comes before the file's own faults: what is in it does not matter.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("two words.yaml");
        std::fs::write(&path, "schema: 1").unwrap();
        let error = load(&path, dir.path(), |_| Err(vec![])).unwrap_err().to_string();
        assert!(error.contains("two words") && error.contains("two_words.yaml"), "{error}");
    }

    #[test]
    fn no_text_panics_the_reader() {
        for cut in 0..HEAD.len() {
            let _ = parse_text(&HEAD[..cut]);
            let _ = parse_text(&HEAD[cut..]);
        }
    }
}
