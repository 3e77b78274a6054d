//! The `list` command: what the matrix expands to, and what was filtered out and why. Needs no template,
//! no compiler and no device.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::{Common, Failure, Format, print};
use crate::codegen::{CodegenError, Project};
use crate::matrix::expression::ExpressionError;
use crate::matrix::local_name;
use crate::matrix::{Axis, AxisChoice, Expansion, Kernel, Phase, Variant};
use crate::notice::wrap;
use crate::ops;
use crate::{exit, hint};

const WIDTH: u16 = 80;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this kernel.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Name the variants for which EXPR holds, such as "tile.oc == 8 and bounds != 'guarded'".
    #[arg(long = "where", value_name = "EXPR")]
    condition: Option<String>,
    /// Name the points that the `where` rules of variants.yaml filtered out, with the reason.
    #[arg(long)]
    filtered: bool,
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let project = Project::load(&common.project, ops::FEATURES)?;
    let kernels: Vec<&Kernel> = match &args.kernel {
        Some(name) => vec![project.kernel(name)?],
        None => project.kernels().iter().collect(),
    };
    let mut text = String::new();
    let mut documents = Vec::new();
    for kernel in kernels {
        let mut expansion = project.expand(kernel)?;
        let n_points = expansion.variants.len() + expansion.filtered.len();
        if let Some(condition) = &args.condition {
            select(kernel, &mut expansion, condition)?;
        }
        match common.format {
            Format::Json => documents.push(document(kernel, &expansion, n_points)),
            Format::Text | Format::Md => describe(&mut text, kernel, &expansion, n_points, args),
        }
    }
    if common.format == Format::Json {
        text = format!("{:#}\n", json!({ "kernels": documents }));
    } else {
        text += &wrap("", &format!("next: `{}` compiles every variant", hint::command("check")), "  ");
        if !args.filtered {
            let filtered = hint::command("list --filtered");
            text += &wrap("  ", &format!("`{filtered}` says what was filtered out and why"), "    ");
        }
    }
    print(&text)
}

/// A table of plain columns that fits the width.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(header);
    table
}

/// Table lines without the blanks that comfy-table pads them with.
pub(super) fn lines(table: &Table) -> String {
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Keeps the variants for which the condition holds.
fn select(kernel: &Kernel, expansion: &mut Expansion, condition: &str) -> Result<(), Failure> {
    let wrong = |error: ExpressionError| {
        let help = error.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
        Failure::new(exit::USAGE, miette::miette!("--where for kernel {}: {error}{help}", kernel.name))
    };
    let filter = kernel.filter(condition).map_err(wrong)?;
    let keeps = expansion
        .variants
        .iter()
        .map(|variant| filter.keeps(variant))
        .collect::<Result<Vec<bool>, _>>()
        .map_err(wrong)?;
    let mut keep = keeps.iter();
    expansion.variants.retain(|_| *keep.next().unwrap_or(&false));
    let mut keep = keeps.iter();
    expansion.points.retain(|_| *keep.next().unwrap_or(&false));
    Ok(())
}

fn describe(text: &mut String, kernel: &Kernel, expansion: &Expansion, n_points: usize, args: &Args) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "kernel {}: op {}, template {}\n", kernel.name, kernel.op, kernel.template.text);
    let mut axes = table(&["axis", "phase", "reference", "values"]);
    for axis in &kernel.axes {
        // An axis of phase given has no reference: there is one reference in each given class.
        let reference =
            kernel.reference.axes.iter().find(|choice| choice.axis == axis.name).map_or("-", |choice| &choice.value);
        axes.add_row([axis.name.as_str(), phase_name(axis.phase), reference, &value_names(axis).join(", ")]);
    }
    let locals: Vec<String> = kernel.local_sizes.iter().map(|size| local_name(*size)).collect();
    axes.add_row(["local size", "dispatch", &local_name(kernel.reference.local), &locals.join(", ")]);
    text.push_str(&lines(&axes));

    let (n_variants, n_locals) = (expansion.variants.len(), kernel.local_sizes.len());
    let _ = writeln!(
        text,
        "\n{n_points} points, {} filtered out, {} variants{}",
        expansion.filtered.len(),
        n_variants,
        if args.condition.is_some() { " selected" } else { "" }
    );
    let _ = writeln!(text, "{n_variants} variants x {n_locals} local sizes = {} candidates", n_variants * n_locals);
    text.push('\n');
    if args.condition.is_some() {
        for variant in &expansion.variants {
            let _ = writeln!(text, "{}", variant.name);
        }
        text.push('\n');
    }
    if args.filtered {
        for (n, rule) in kernel.rules.iter().enumerate() {
            let removed: Vec<&str> = expansion
                .filtered
                .iter()
                .filter(|filtered| filtered.rule == n)
                .map(|filtered| filtered.name.as_str())
                .collect();
            let _ = writeln!(text, "{} filtered out: {}\n  by keep: {}", removed.len(), rule.because, rule.keep.text);
            for name in removed {
                let _ = writeln!(text, "  {name}");
            }
            text.push('\n');
        }
    }
}

fn document(kernel: &Kernel, expansion: &Expansion, n_points: usize) -> Value {
    let axes_of = |axes: &[AxisChoice]| {
        axes.iter().map(|choice| (choice.axis.clone(), json!(choice.value))).collect::<serde_json::Map<_, _>>()
    };
    let variant = |variant: &Variant| json!({ "name": variant.name, "axes": axes_of(&variant.axes), "given_class": variant.given_class() });
    json!({
        "kernel": kernel.name,
        "op": kernel.op,
        "template": kernel.template.text,
        "axes": kernel.axes.iter().map(|axis| json!({ "name": axis.name, "phase": axis.phase, "values": value_names(axis) })).collect::<Vec<_>>(),
        "local_sizes": kernel.local_sizes,
        "reference": { "axes": axes_of(&kernel.reference.axes), "local": kernel.reference.local },
        "n_points": n_points,
        "n_variants": expansion.variants.len(),
        "n_candidates": expansion.variants.len() * kernel.local_sizes.len(),
        "variants": expansion.variants.iter().map(variant).collect::<Vec<_>>(),
        "filtered": expansion.filtered.iter().map(|filtered| json!({
            "name": filtered.name,
            "axes": axes_of(&filtered.axes),
            "keep": kernel.rules[filtered.rule].keep.text,
            "because": kernel.rules[filtered.rule].because,
        })).collect::<Vec<_>>(),
    })
}

fn value_names(axis: &Axis) -> Vec<&str> {
    axis.values.iter().map(|value| value.name.as_str()).collect()
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Given => "given",
        Phase::Pack => "pack",
        Phase::Dispatch => "dispatch",
    }
}

impl From<CodegenError> for Failure {
    /// A person's file is at fault, unless the system is.
    fn from(error: CodegenError) -> Failure {
        Failure::new(exit_code(&error), error)
    }
}

/// The documented exit code of an error of codegen.
pub(super) fn exit_code(error: &CodegenError) -> i32 {
    use crate::codegen::failure::Step;
    use crate::matrix::MatrixError;
    match error {
        CodegenError::Matrix(MatrixError::Unreadable { source, .. }) => exit::of_reading(source),
        CodegenError::Template(unreadable) => exit::of_reading(&unreadable.source),
        CodegenError::Threads(_) => exit::SYSTEM,
        CodegenError::UnknownKernel { .. } => exit::USAGE,
        // Every file is well formed, and what they say of each other does not hold.
        CodegenError::Compile(errors)
            if errors.failures.iter().all(|failure| matches!(failure.step, Step::Interface | Step::Static(_))) =>
        {
            exit::FOUND
        }
        _ => exit::INPUT,
    }
}
