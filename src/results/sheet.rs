//! The CSV of results: one sheet, its columns, its cells. The header only grows: a reader skips columns it does not
//! know and takes missing optional ones as "not measured".
//!
//! Text cells that a spreadsheet would run as a formula are written with a leading `'` and read without it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder, StringRecord, WriterBuilder};
use indexmap::{IndexMap, IndexSet};
use serde::de::IntoDeserializer;
use serde::de::value::{Error as NameError, StrDeserializer};

use super::row::serde_name;
use super::{ResultsError, Row};
use crate::verify::{Kind, Status, Verdict};

const AXIS_PREFIX: &str = "axis_";

/// Columns after the axes, in the order in which they are written. New ones go at the end.
const TAIL: [&str; 39] = [
    "local_x",
    "local_y",
    "local_z",
    "verdict",
    "kind",
    "culprit",
    "detail",
    "i1_hash",
    "rounds",
    "timer",
    "operands",
    "time_ns",
    "time_ns_lo",
    "time_ns_hi",
    "mad_ns",
    "ratio",
    "ratio_lo",
    "ratio_hi",
    "tie",
    "holdout",
    "gflops",
    "gbps",
    "roofline",
    "replays",
    "distinct",
    "deviating",
    "deviation_median",
    "deviation_max",
    "err_over_bound",
    "registers",
    "spills",
    "loads_per_fma",
    "compile_ms",
    "driver_ms",
    "spirv_hash",
    "stage",
    "time_canary",
    "given",
    "arms",
];

/// Without these a row says nothing.
const REQUIRED: [&str; 7] = ["case", "kernel", "variant", "local_x", "local_y", "local_z", "verdict"];

/// The columns that differ from sheet to sheet, each in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    pub fields: IndexSet<String>,
    pub axes: IndexSet<String>,
}

impl Header {
    /// One that covers all case fields and axes of these rows.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Self {
        let mut header = Self::default();
        for row in rows {
            header
                .fields
                .extend(row.case_fields.keys().filter(|f| !header.fields.contains(*f)).cloned().collect::<Vec<_>>());
            header.axes.extend(row.axes.keys().filter(|a| !header.axes.contains(*a)).cloned().collect::<Vec<_>>());
        }
        header
    }

    fn columns(&self) -> Vec<String> {
        let axes = self.axes.iter().map(|a| format!("{AXIS_PREFIX}{a}"));
        let own = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect::<Vec<_>>();
        let mut columns = own(&["case"]);
        columns.extend(self.fields.iter().cloned());
        columns.extend(own(&["kernel", "variant"]));
        columns.extend(axes);
        columns.extend(own(&TAIL));
        columns
    }

    /// A case field stands between `case` and `kernel`; one that bears a column's name could not be read back.
    fn check(&self) -> Result<(), SheetError> {
        let bad = |name: &str, reason| Err(SheetError::Name { name: name.to_string(), reason });
        for field in &self.fields {
            if REQUIRED.contains(&field.as_str()) || TAIL.contains(&field.as_str()) || field.starts_with(AXIS_PREFIX) {
                return bad(field, "a column of the results has this name (choose another)");
            }
        }
        for name in self.fields.iter().chain(&self.axes) {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return bad(name, "allowed are ascii letters, digits and `_`");
            }
        }
        Ok(())
    }

    /// A value without a column would be lost.
    fn covers(&self, row: &Row) -> Result<(), SheetError> {
        let missing = row.case_fields.keys().find(|f| !self.fields.contains(*f));
        match missing.or_else(|| row.axes.keys().find(|a| !self.axes.contains(*a))) {
            Some(name) => {
                Err(SheetError::Name { name: name.clone(), reason: "the header of this file has no column for it" })
            }
            None => Ok(()),
        }
    }
}

/// Writes all rows with one header that covers them.
pub fn write_rows<W: io::Write>(out: W, rows: &[Row]) -> Result<(), SheetError> {
    let mut writer = SheetWriter::new(out, Header::of(rows))?;
    rows.iter().try_for_each(|row| writer.write(row))?;
    writer.finish()?;
    Ok(())
}

/// Writes a sheet row by row.
pub struct SheetWriter<W: io::Write> {
    writer: csv::Writer<W>,
    header: Header,
    cells: Cells,
}

impl<W: io::Write> SheetWriter<W> {
    pub fn new(out: W, header: Header) -> Result<Self, SheetError> {
        header.check()?;
        let mut writer = WriterBuilder::new().from_writer(out);
        writer.write_record(header.columns())?;
        Ok(Self { writer, header, cells: Cells::default() })
    }

    pub fn finish(self) -> Result<W, SheetError> {
        self.writer.into_inner().map_err(|e| SheetError::Io(io::Error::new(e.error().kind(), e.error().to_string())))
    }

    pub fn write(&mut self, row: &Row) -> Result<(), SheetError> {
        self.header.covers(row)?;
        let cells = &mut self.cells;
        cells.record.clear();
        cells.text(&row.case);
        for field in &self.header.fields {
            cells.number(row.case_fields.get(field));
        }
        cells.text(&row.kernel);
        cells.text(&row.variant);
        for axis in &self.header.axes {
            cells.text(row.axes.get(axis).map_or("", String::as_str));
        }
        for size in &row.local {
            cells.number(Some(size));
        }
        cells.text(&serde_name(&row.verdict.status));
        cells.text(&row.verdict.kind.map(|k| serde_name(&k)).unwrap_or_default());
        cells.text(row.culprit.as_deref().unwrap_or_default());
        cells.text(&row.verdict.detail);
        cells.text(row.i1_hash.as_deref().unwrap_or_default());
        cells.number(Some(row.rounds));
        cells.text(row.timer.as_deref().unwrap_or_default());
        cells.text(row.operands.as_deref().unwrap_or_default());
        for figure in [row.time_ns, row.time_ns_lo, row.time_ns_hi, row.mad_ns, row.ratio, row.ratio_lo, row.ratio_hi] {
            cells.figure(figure);
        }
        cells.text(if row.tie { "true" } else { "" });
        for figure in [row.holdout, row.gflops, row.gbps, row.roofline] {
            cells.figure(figure);
        }
        cells.number(Some(row.replays));
        cells.number(row.distinct);
        cells.number(row.deviating);
        for figure in [row.deviation_median, row.deviation_max, row.err_over_bound] {
            cells.figure(figure);
        }
        cells.number(row.registers);
        cells.number(row.spills);
        for figure in [row.loads_per_fma, row.compile_ms, row.driver_ms] {
            cells.figure(figure);
        }
        cells.text(&row.spirv_hash);
        cells.text(&row.stage);
        cells.figure(row.time_canary);
        cells.text(&row.given);
        cells.text(&row.arms);
        self.writer.write_byte_record(&cells.record)?;
        Ok(())
    }
}

/// What can go wrong while writing, before a path is known.
#[derive(Debug, thiserror::Error)]
pub enum SheetError {
    #[error("{name:?}: {reason}")]
    Name { name: String, reason: &'static str },
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Csv(#[from] csv::Error),
}

#[cfg(feature = "compile")]
impl SheetError {
    pub(super) fn at(self, path: &Path) -> ResultsError {
        match self {
            SheetError::Name { name, reason } => ResultsError::ColumnName { name, reason },
            SheetError::Io(source) => ResultsError::write(path, source),
            SheetError::Csv(error) => ResultsError::write(path, io::Error::from(error)),
        }
    }
}

/// Whether a spreadsheet reads a cell that starts like this as a formula; `'` itself is in, so that reading inverts writing.
fn runs_as_formula(first: Option<char>) -> bool {
    matches!(first, Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\''))
}

/// One record in the making.
#[derive(Default)]
struct Cells {
    record: ByteRecord,
    scratch: String,
}

impl Cells {
    fn text(&mut self, value: &str) {
        if runs_as_formula(value.chars().next()) {
            self.scratch.clear();
            self.scratch.push('\'');
            self.scratch.push_str(value);
            self.record.push_field(self.scratch.as_bytes());
        } else {
            self.record.push_field(value.as_bytes());
        }
    }

    fn number(&mut self, value: Option<impl std::fmt::Display>) {
        self.scratch.clear();
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = write!(self.scratch, "{value}");
        }
        self.record.push_field(self.scratch.as_bytes());
    }

    /// The shortest text that reads back as the same number. What is not finite was not measured.
    fn figure(&mut self, value: Option<f64>) {
        self.scratch.clear();
        if let Some(value) = value.filter(|v| v.is_finite()) {
            let plain = value == 0.0 || (1e-5..1e15).contains(&value.abs());
            let _ = if plain { write!(self.scratch, "{value}") } else { write!(self.scratch, "{value:e}") };
        }
        self.record.push_field(self.scratch.as_bytes());
    }
}

/// Rows of a sheet, and what its header lacked.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    pub rows: Vec<Row>,
    /// Files from before the column `given` leave `Row::given` empty; the reader of the provenance fills it.
    pub has_given: bool,
}

/// Reads a sheet; `path` is for messages only.
pub fn read_rows<R: io::Read>(input: R, path: &Path) -> Result<Sheet, ResultsError> {
    let mut rows = Vec::new();
    let has_given = read_each(input, path, |row| rows.push(row))?;
    Ok(Sheet { rows, has_given })
}

/// Reads a sheet row by row, for files too large to hold; answers whether it has a column `given`.
pub fn read_each<R: io::Read>(input: R, path: &Path, mut each: impl FnMut(Row)) -> Result<bool, ResultsError> {
    let mut reader = ReaderBuilder::new().from_reader(input);
    let header = reader.headers().map_err(|e| not_csv(path, e))?.clone();
    let columns = Columns::of(&header, path)?;
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| not_csv(path, e))? {
        let line = record.position().map_or(0, csv::Position::line);
        each(Record { record: &record, columns: &columns, path, line }.row()?);
    }
    Ok(columns.by_name.contains_key("given"))
}

fn not_csv(path: &Path, error: csv::Error) -> ResultsError {
    let line = error.position().map_or(1, csv::Position::line);
    let message = match error.into_kind() {
        csv::ErrorKind::Io(source) => return ResultsError::read(path, source),
        csv::ErrorKind::Utf8 { err, .. } => format!("cell {} is not UTF-8", err.field() + 1),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells where the header has {expected_len}")
        }
        other => format!("{other:?}"),
    };
    ResultsError::NotCsv { path: path.to_path_buf(), line, message }
}

/// Where the columns stand in this file.
struct Columns {
    by_name: HashMap<String, usize>,
    /// Everything between `case` and `kernel`.
    fields: Vec<(String, usize)>,
    axes: Vec<(String, usize)>,
}

impl Columns {
    fn of(header: &StringRecord, path: &Path) -> Result<Self, ResultsError> {
        let mut by_name = HashMap::new();
        for (at, name) in header.iter().enumerate() {
            // Spreadsheets put a byte order mark before the first cell.
            let name = if at == 0 { name.trim_start_matches('\u{feff}') } else { name };
            if by_name.insert(name.to_string(), at).is_some() {
                return Err(ResultsError::DuplicateColumn { path: path.to_path_buf(), column: name.to_string() });
            }
        }
        if let Some(missing) = REQUIRED.iter().find(|c| !by_name.contains_key(**c)) {
            return Err(ResultsError::MissingColumn {
                path: path.to_path_buf(),
                column: (*missing).to_string(),
                required: REQUIRED.join(", "),
            });
        }
        let (case, kernel) = (by_name["case"], by_name["kernel"]);
        let known = |name: &str| REQUIRED.contains(&name) || TAIL.contains(&name) || name.starts_with(AXIS_PREFIX);
        let fields = header.iter().enumerate().skip(case + 1).take(kernel.saturating_sub(case + 1));
        let fields = fields.filter(|(_, name)| !known(name)).map(|(at, name)| (name.to_string(), at)).collect();
        let axes = header.iter().enumerate();
        let axes = axes.filter_map(|(at, name)| Some((name.strip_prefix(AXIS_PREFIX)?.to_string(), at))).collect();
        Ok(Self { by_name, fields, axes })
    }
}

/// One line of the file.
struct Record<'a> {
    record: &'a StringRecord,
    columns: &'a Columns,
    path: &'a Path,
    line: u64,
}

impl Record<'_> {
    fn row(&self) -> Result<Row, ResultsError> {
        let mut case_fields = IndexMap::new();
        for (name, at) in &self.columns.fields {
            if let Some(value) = self.parse(name, &self.record[*at], "an integer, or nothing")? {
                case_fields.insert(name.clone(), value);
            }
        }
        let axes = self.columns.axes.iter().map(|(name, at)| (name.clone(), unprefixed(&self.record[*at]).to_string()));
        // An axis of another kernel in the same file is an empty cell.
        let axes = axes.filter(|(_, value)| !value.is_empty()).collect();
        Ok(Row {
            case: self.needed("case")?,
            case_fields,
            kernel: self.needed("kernel")?,
            variant: self.needed("variant")?,
            axes,
            given: self.text("given").to_string(),
            local: [self.local("local_x")?, self.local("local_y")?, self.local("local_z")?],
            verdict: Verdict {
                status: self
                    .named::<Status>("verdict")?
                    .ok_or_else(|| self.bad("verdict", "", "a verdict, not nothing"))?,
                kind: self.named::<Kind>("kind")?,
                detail: self.text("detail").to_string(),
            },
            culprit: self.optional("culprit"),
            i1_hash: self.optional("i1_hash"),
            rounds: self.count("rounds")?.unwrap_or(0),
            timer: self.optional("timer"),
            operands: self.optional("operands"),
            time_ns: self.figure("time_ns")?,
            time_ns_lo: self.figure("time_ns_lo")?,
            time_ns_hi: self.figure("time_ns_hi")?,
            mad_ns: self.figure("mad_ns")?,
            ratio: self.figure("ratio")?,
            ratio_lo: self.figure("ratio_lo")?,
            ratio_hi: self.figure("ratio_hi")?,
            tie: match self.text("tie") {
                "true" => true,
                "" | "false" => false,
                other => return Err(self.bad("tie", other, "true, false, or nothing")),
            },
            holdout: self.figure("holdout")?,
            gflops: self.figure("gflops")?,
            gbps: self.figure("gbps")?,
            roofline: self.figure("roofline")?,
            replays: self.count("replays")?.unwrap_or(0),
            distinct: self.count("distinct")?,
            deviating: self.count("deviating")?,
            deviation_median: self.figure("deviation_median")?,
            deviation_max: self.figure("deviation_max")?,
            arms: self.text("arms").to_string(),
            err_over_bound: self.figure("err_over_bound")?,
            registers: self.count("registers")?,
            spills: self.count("spills")?,
            loads_per_fma: self.figure("loads_per_fma")?,
            compile_ms: self.figure("compile_ms")?,
            driver_ms: self.figure("driver_ms")?,
            spirv_hash: self.text("spirv_hash").to_string(),
            stage: self.text("stage").to_string(),
            time_canary: self.figure("time_canary")?,
        })
    }

    /// The cell as it stands in the file; empty when the file has no such column.
    fn raw(&self, column: &str) -> &str {
        self.columns.by_name.get(column).and_then(|at| self.record.get(*at)).unwrap_or_default()
    }

    fn text(&self, column: &str) -> &str {
        unprefixed(self.raw(column))
    }

    fn optional(&self, column: &str) -> Option<String> {
        Some(self.text(column).to_string()).filter(|text| !text.is_empty())
    }

    fn needed(&self, column: &str) -> Result<String, ResultsError> {
        self.optional(column).ok_or_else(|| self.bad(column, "", "some text, not nothing"))
    }

    fn count(&self, column: &str) -> Result<Option<u32>, ResultsError> {
        self.parse(column, self.raw(column), "an integer from 0 to 4294967295, or nothing")
    }

    fn local(&self, column: &str) -> Result<u32, ResultsError> {
        let allowed = "an integer from 1 to 4294967295";
        let size = self.parse::<u32>(column, self.raw(column), allowed)?.filter(|size| *size > 0);
        size.ok_or_else(|| self.bad(column, self.raw(column), allowed))
    }

    fn figure(&self, column: &str) -> Result<Option<f64>, ResultsError> {
        let allowed = "a finite number, or nothing";
        let value = self.parse::<f64>(column, self.raw(column), allowed)?;
        if value.is_some_and(|v| !v.is_finite()) {
            return Err(self.bad(column, self.raw(column), allowed));
        }
        Ok(value)
    }

    fn parse<T: std::str::FromStr>(&self, column: &str, cell: &str, allowed: &str) -> Result<Option<T>, ResultsError> {
        if cell.is_empty() {
            return Ok(None);
        }
        cell.parse().map(Some).map_err(|_| self.bad(column, cell, allowed))
    }

    fn named<T: serde::de::DeserializeOwned>(&self, column: &str) -> Result<Option<T>, ResultsError> {
        let cell = self.text(column);
        if cell.is_empty() {
            return Ok(None);
        }
        let name: StrDeserializer<'_, NameError> = cell.into_deserializer();
        T::deserialize(name).map(Some).map_err(|error| {
            let message = error.to_string();
            let allowed = message.split_once("expected one of ").map_or(message.as_str(), |(_, names)| names);
            self.bad(column, cell, &allowed.replace('`', ""))
        })
    }

    fn bad(&self, column: &str, value: &str, allowed: &str) -> ResultsError {
        let mut shown: String = value.chars().take(60).collect();
        if shown.len() < value.len() {
            shown.push_str("...");
        }
        ResultsError::BadCell {
            path: self.path.to_path_buf(),
            line: self.line,
            column: column.to_string(),
            value: shown,
            allowed: allowed.to_string(),
        }
    }
}

/// Undoes what [`Cells::text`] did, and leaves a `'` that a person typed before harmless text.
fn unprefixed(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if runs_as_formula(rest.chars().next()) => rest,
        _ => cell,
    }
}

#[cfg(test)]
#[path = "sheet_tests.rs"]
mod tests;
