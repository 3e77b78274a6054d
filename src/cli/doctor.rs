//! The `doctor` command: what this machine can do, what is missing, and the one command that mends it.

use comfy_table::{ContentArrangement, Table, presets};

use self::machine::{Machine, abbreviated};
use self::report::{Missing, Report};
use super::{Common, Failure, Format};
use crate::exit;
use crate::gpu::Capabilities;
use crate::hint::{self, quoted};

mod machine;
mod report;

const WIDTH: u16 = 80;

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(common: &Common, _args: &Args) -> Result<i32, Failure> {
    let machine = Machine::here();
    let report = Report::examine(&machine, &common.project);
    let _: i32 = match common.format {
        Format::Text | Format::Md => super::print(&text(&report, &machine))?,
        Format::Json => {
            let json = serde_json::to_string_pretty(&report).map_err(|error| {
                Failure::new(exit::SYSTEM, miette::miette!("cannot write the report as JSON: {error}"))
            })?;
            super::print(&format!("{json}\n"))?
        }
    };
    Ok(if report.missing.iter().any(|missing| missing.needed) { exit::FOUND } else { exit::OK })
}

/// The report as a person reads it, at most 80 columns wide.
fn text(report: &Report, machine: &Machine) -> String {
    let short = |path: &std::path::Path| abbreviated(path, machine.home.as_deref());
    let mut out = String::new();

    let mut programs = table(&["program", "version", "for"]);
    for program in &report.programs {
        programs.add_row([&program.name, program.version.as_deref().unwrap_or("not found"), &program.used_for]);
    }
    out += &format!("{}\n\n", programs.trim_fmt());

    let mut places = table(&["library or file", "where"]);
    for library in &report.shaderc {
        places.add_row([format!("shaderc {}", library.version), short(&library.path)]);
    }
    if report.shaderc.is_empty() {
        places.add_row(["shaderc", "not built"]);
    }
    for (what, paths) in [
        (if report.drivers_chosen_by.is_some() { "driver (chosen)" } else { "driver" }, &report.driver_files),
        ("SwiftShader", &report.swiftshader),
        ("layer", &report.validation_layers),
    ] {
        for path in paths {
            places.add_row([what.to_owned(), short(path)]);
        }
        if paths.is_empty() {
            places.add_row([what, "none found"]);
        }
    }
    out += &format!("{}\n\n", places.trim_fmt());

    match &report.device_problem {
        None => out += &device_tables(&report.devices),
        Some(problem) => out += &wrapped(&format!("no device: {problem}"), ""),
    }
    out += "\n";
    if let Some(variable) = &report.drivers_chosen_by {
        out += &wrapped(&format!("only the drivers that {variable} names are asked"), "");
        out += "\n";
    }

    if let Some(file) = report.swiftshader.iter().find(|file| !report.driver_files.contains(file)) {
        // Never wrapped: it is there to be copied.
        let file = quoted(&file.display().to_string());
        out += &format!("to use SwiftShader:\n    VK_DRIVER_FILES={file} {}\n\n", hint::command("sweep"));
    }

    let project = &report.project;
    out += &match (project.has_matrix, project.results.len()) {
        (false, _) => format!("project  {}: no variants.yaml here\n", short(&project.path)),
        (true, n) => format!("project  {}: {n} results, {} tables\n", short(&project.path), project.tables.len()),
    };
    for result in &project.results {
        out += &format!("         {}\n", short(result));
    }
    for journal in &project.journals {
        out += &wrapped(
            &format!("unfinished sweep: {} (go on with `{}`)", short(journal), hint::command("sweep --resume")),
            "         ",
        );
    }

    out += "\n";
    for missing in &report.missing {
        out += &missing_lines(missing);
    }
    out += &closing(report);
    out
}

fn missing_lines(missing: &Missing) -> String {
    let weight = if missing.needed { "missing" } else { "optional" };
    let mut lines = wrapped(&format!("{weight}: {} ({})", missing.what, missing.why), "");
    // Never wrapped: it is there to be copied.
    lines += &format!("    {}\n", missing.mend);
    lines
}

fn closing(report: &Report) -> String {
    let n_needed = report.missing.iter().filter(|missing| missing.needed).count();
    let ready = |arguments| format!("ready; next: {}\n", hint::command(arguments));
    match (n_needed, report.project.has_matrix) {
        (0, true) if !report.project.journals.is_empty() => ready("sweep --resume"),
        (0, true) if report.project.results.is_empty() => ready("sweep"),
        (0, true) => ready("table"),
        (0, false) => {
            format!("ready; next: {}, where DIR holds a variants.yaml\n", hint::command("list --project DIR"))
        }
        (1, _) => "1 needed thing is missing; next: the command under it\n".to_owned(),
        (n, _) => format!("{n} needed things are missing; next: the commands under them\n"),
    }
}

/// Who the devices are, and what of them decides which candidates run; in two tables, since one is too wide.
fn device_tables(devices: &[Capabilities]) -> String {
    let mut names = table(&["--device", "name", "kind", "driver", "Vulkan"]);
    let mut abilities = table(&["--device", "f16 sums", "f16 storage", "invocations", "subgroup", "tick (ns)"]);
    let yes = |has: bool| if has { "yes" } else { "no" }.to_owned();
    for device in devices {
        let has = |feature: &str| device.features.iter().any(|f| f == feature);
        let limits = &device.limits;
        names.add_row([
            device.index.to_string(),
            device.name.clone(),
            device.kind.clone(),
            format!("{} {}", device.driver_name, device.driver_info),
            device.api_version.clone(),
        ]);
        abilities.add_row([
            device.index.to_string(),
            yes(has("shaderFloat16")),
            yes(has("storageBuffer16BitAccess")),
            limits.max_invocations.to_string(),
            limits.subgroup_size.to_string(),
            tick(limits.timestamp_valid_bits, limits.timestamp_period_ns),
        ]);
    }
    format!("{}\n\n{}\n", names.trim_fmt(), abilities.trim_fmt())
}

/// The timestamp's resolution; without timestamps the host's clock is used.
fn tick(valid_bits: u32, period_ns: Option<f64>) -> String {
    match period_ns {
        Some(period_ns) if valid_bits > 0 => period_ns.to_string(),
        _ => "host clock".to_owned(),
    }
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(header.to_vec());
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// `text` broken at spaces to fit, each line after `indent`; a single longer word stands as it is.
fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::from(indent);
    for word in text.split_whitespace() {
        let is_first = line.len() == indent.len();
        if !is_first && line.chars().count() + 1 + word.chars().count() > usize::from(WIDTH) {
            out += &line;
            out.push('\n');
            line = format!("{indent}  ");
            line += word;
        } else {
            if !is_first {
                line.push(' ');
            }
            line += word;
        }
    }
    out + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_indented() {
        let text = wrapped(&"word ".repeat(40), "    ");
        assert!(text.lines().all(|line| line.chars().count() <= 80 && line.starts_with("    ")), "{text}");
        assert_eq!(text.matches("word").count(), 40);
        assert_eq!(wrapped("short", ""), "short\n");
    }

    #[test]
    fn long_names_of_devices_stay_within_the_width() {
        let device = |name: &str| Capabilities {
            index: 0,
            name: name.to_owned(),
            vendor_id: 0,
            device_id: 0,
            kind: "integrated".to_owned(),
            driver_id: 0,
            driver_name: "an unusually talkative driver".to_owned(),
            driver_info: "version 1.2.3 (build of an unusually long branch name)".to_owned(),
            driver_version: 0,
            api_version: "1.4.303".to_owned(),
            limits: crate::gpu::capabilities::Limits {
                max_invocations: 1024,
                max_local_size: [1024; 3],
                max_group_count: [65535; 3],
                max_shared_bytes: 32768,
                max_push_bytes: 128,
                max_image_2d: 16384,
                max_image_3d: 2048,
                max_storage_range_bytes: u64::MAX,
                min_storage_offset_align_bytes: 64,
                subgroup_size: 8,
                timestamp_valid_bits: 64,
                timestamp_period_ns: Some(1.0),
            },
            features: vec!["shaderFloat16".to_owned()],
        };
        let text = device_tables(&[device("llvmpipe (LLVM 15.0.6, 256 bits)"), device(&"long name ".repeat(12))]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let abilities = text.lines().last().unwrap_or_default();
        assert_eq!(abilities.split_whitespace().collect::<Vec<_>>(), ["0", "yes", "no", "1024", "8", "1"]);
    }

    #[test]
    fn a_device_without_timestamps_says_which_clock_is_used() {
        assert_eq!(tick(64, Some(1.0)), "1");
        assert_eq!(tick(36, Some(52.08)), "52.08");
        assert_eq!(tick(0, Some(1.0)), "host clock");
        assert_eq!(tick(64, None), "host clock");
    }
}
