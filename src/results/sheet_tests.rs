//! Tests of the sheet: round trips of nasty text, old files, bad cells.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::results::row::tests::row;

fn written(rows: &[Row]) -> String {
    let mut out = Vec::new();
    write_rows(&mut out, rows).unwrap();
    String::from_utf8(out).unwrap()
}

fn read(text: &str) -> Result<Vec<Row>, String> {
    read_rows(text.as_bytes(), Path::new("quick.csv")).map(|s| s.rows).map_err(|e| e.to_string())
}

#[test]
fn header_is_the_documented_one() {
    let text = written(&[row("c1", "v1")]);
    let header = text.lines().next().unwrap();
    assert_eq!(
        header,
        "case,c_in,c_out,kernel,variant,axis_storage,axis_tile,local_x,local_y,local_z,verdict,kind,culprit,detail,i1_hash,rounds,\
         timer,operands,time_ns,time_ns_lo,time_ns_hi,mad_ns,ratio,ratio_lo,ratio_hi,tie,holdout,gflops,gbps,roofline,replays,\
         distinct,deviating,deviation_median,deviation_max,err_over_bound,registers,spills,loads_per_fma,compile_ms,driver_ms,\
         spirv_hash,stage,time_canary,given,arms"
    );
}

#[test]
fn formulas_are_written_as_text_and_numbers_are_left_alone() {
    let mut r = row("=1+1", "@v");
    r.verdict.detail = "-3 instead of 4".into();
    r.case_fields.insert("c_in".into(), -7);
    let text = written(&[r.clone()]);
    let line = text.lines().nth(1).unwrap();
    assert!(line.starts_with("'=1+1,-7,"), "{line}");
    assert!(line.contains(",'@v,") && line.contains(",'-3 instead of 4,"), "{line}");
    assert_eq!(read(&text).unwrap(), [r]);
    // A person's own apostrophe before harmless text is text.
    assert_eq!(unprefixed("'tis"), "'tis");
}

#[test]
fn files_of_older_and_newer_schemas_are_read() {
    let old = "case,c_in,kernel,variant,axis_tile,local_x,local_y,local_z,verdict,kind,time_ns\n\
               c1,48,k,v1,2x1x4,8,8,1,admitted,,1250.5\n\
               c1,48,k,v2,2x1x4,8,8,1,rejected,race,\n";
    let sheet = read_rows(old.as_bytes(), Path::new("old.csv")).unwrap();
    assert!(!sheet.has_given);
    assert_eq!(sheet.rows[0].time_ns, Some(1250.5));
    assert_eq!(sheet.rows[0].case_fields["c_in"], 48);
    assert_eq!((sheet.rows[0].rounds, sheet.rows[0].tie, sheet.rows[0].time_canary), (0, false, None));
    assert_eq!(sheet.rows[1].verdict.kind, Some(Kind::Race));

    let newer = "\u{feff}case,c_in,kernel,variant,local_x,local_y,local_z,verdict,given,clock_mhz,axis_swizzle\n\
                 c1,48,k,v1,8,8,1,admitted,f32,1980,on\n";
    let rows = read(newer).unwrap();
    assert_eq!(rows[0].given, "f32");
    assert_eq!(rows[0].axes["swizzle"], "on");
    assert_eq!(rows[0].case_fields.len(), 1, "a later column is no case field");
}

#[test]
fn bad_files_are_told_where_and_what_is_allowed() {
    let header = "case,c_in,kernel,variant,local_x,local_y,local_z,verdict,kind,tie,time_ns\n";
    let says = |body: &str, want: &str| {
        let message = read(&format!("{header}{body}")).unwrap_err();
        assert_eq!(message, want);
    };
    says(
        "c1,1,k,v,8,8,1,admitted,,,fast\n",
        "quick.csv:2: column time_ns: \"fast\" is not allowed (allowed: a finite number, or nothing)",
    );
    says(
        "c1,1,k,v,8,8,1,admitted,,,NaN\n",
        "quick.csv:2: column time_ns: \"NaN\" is not allowed (allowed: a finite number, or nothing)",
    );
    says(
        "c1,x,k,v,8,8,1,admitted,,,\n",
        "quick.csv:2: column c_in: \"x\" is not allowed (allowed: an integer, or nothing)",
    );
    says(
        "c1,1,k,v,0,8,1,admitted,,,\n",
        "quick.csv:2: column local_x: \"0\" is not allowed (allowed: an integer from 1 to 4294967295)",
    );
    says(
        "c1,1,k,v,8,8,1,admitted,,,\nc1,1,k,v,8,8,1,fine,,,\n",
        "quick.csv:3: column verdict: \"fine\" is not allowed (allowed: admitted, rejected, unstable, inapplicable, untested)",
    );
    says("c1,1,k,v,8,8,1,,,,\n", "quick.csv:2: column verdict: \"\" is not allowed (allowed: a verdict, not nothing)");
    says(
        "c1,1,k,v,8,8,1,admitted,,yes,\n",
        "quick.csv:2: column tie: \"yes\" is not allowed (allowed: true, false, or nothing)",
    );
    says("c1,1,k\n", "quick.csv:2: not a CSV of results: 3 cells where the header has 11");
    assert_eq!(
        read("case,kernel,variant,local_x,local_y,verdict\n").unwrap_err(),
        "quick.csv:1: column local_z is missing (required: case, kernel, variant, local_x, local_y, local_z, verdict)"
    );
    assert_eq!(read("case,case\n").unwrap_err(), "quick.csv:1: column case occurs twice (each column once)");
    assert!(read("").unwrap_err().contains("column case is missing"));
    let binary = read_rows(&b"case,kernel\n\xff,x\n"[..], Path::new("b.csv")).unwrap_err().to_string();
    assert!(binary.starts_with("b.csv:1: column variant is missing"), "{binary}");
}

#[test]
fn names_that_could_not_be_read_back_are_refused() {
    for name in ["kernel", "time_ns", "axis_x", "", "a b", "=x"] {
        let mut r = row("c", "v");
        r.case_fields.insert(name.into(), 1);
        assert!(write_rows(Vec::new(), &[r]).is_err(), "{name:?}");
    }
}

#[test]
fn what_is_not_finite_was_not_measured() {
    let mut r = row("c", "v");
    r.time_ns = Some(f64::INFINITY);
    assert_eq!(read(&written(&[r])).unwrap()[0].time_ns, None);
}

#[test]
fn work_grows_with_the_rows_and_no_faster() {
    let rows: Vec<Row> =
        (0..100_000u32).map(|i| Row { rounds: i, ..row("48-96-16x16", "conv2d_pw_f16_tex3d_f32_buf_2x2x8") }).collect();
    let start = Instant::now();
    let text = written(&rows);
    let sheet = read(&text).unwrap();
    assert_eq!(sheet.len(), rows.len());
    assert_eq!(sheet[99_999], rows[99_999]);
    // Seconds on an idle machine, so this only fails on quadratic work (hours), never on a slow day.
    assert!(start.elapsed() < Duration::from_secs(300), "{:?}", start.elapsed());
}

/// Text as hostile as cells get: formulas, quotes, separators, line breaks, anything else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[=+@'\\-\t\r\n\",; a-z0-9]{0,12}",
        Just("'".to_string()),
        Just("''=1".to_string()),
        Just("\u{feff}=1".to_string()),
    ]
}

fn some_text() -> impl Strategy<Value = String> {
    text().prop_filter("an empty cell means nothing", |t| !t.is_empty())
}

fn figure() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(prop_oneof![any::<f64>().prop_filter("finite", |v| v.is_finite()), Just(0.0), 1e-3f64..1e9])
}

prop_compose! {
    fn any_row()(
        names in (some_text(), some_text(), some_text(), text(), text()),
        axis in some_text(),
        details in (text(), prop::option::of(some_text()), prop::option::of(some_text())),
        local in prop::array::uniform3(1u32..),
        field in any::<i64>(),
        counts in prop::array::uniform6(prop::option::of(any::<u32>())),
        figures in prop::collection::vec(figure(), 17),
        tie in any::<bool>(),
        kind in prop::option::of(prop_oneof![Just(Kind::OobRead), Just(Kind::DeviceLost), Just(Kind::NotReached)]),
    ) -> Row {
        let mut r = row(&names.0, &names.1);
        r.kernel = names.2;
        r.given = names.3;
        r.stage = names.4;
        r.axes.insert("tile".into(), axis);
        r.case_fields.insert("c_in".into(), field);
        r.verdict = Verdict { status: Status::Unstable, kind, detail: details.0 };
        (r.culprit, r.timer) = (details.1.clone(), details.2.clone());
        (r.operands, r.i1_hash) = (details.2, details.1);
        r.local = local;
        (r.rounds, r.replays) = (counts[0].unwrap_or(1), counts[1].unwrap_or(2));
        (r.distinct, r.deviating, r.registers, r.spills) = (counts[2], counts[3], counts[4], counts[5]);
        [r.time_ns, r.time_ns_lo, r.time_ns_hi, r.mad_ns, r.ratio, r.ratio_lo, r.ratio_hi, r.holdout, r.gflops, r.gbps, r.roofline,
         r.deviation_median, r.deviation_max, r.err_over_bound, r.loads_per_fma, r.compile_ms, r.time_canary] =
            std::array::from_fn(|i| figures[i]);
        r.arms = "cold 0/168, warm 1/164, loaded 2/168".into();
        r.tie = tie;
        r
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec(any_row(), 0..4)) {
        prop_assert_eq!(read(&written(&rows)).unwrap(), rows);
    }

    #[test]
    fn no_text_panics_the_reader(text in "[a-z_,\"\n=']{0,80}") {
        let _ = read(&text);
        let _ = read(&format!("case,kernel,variant,local_x,local_y,local_z,verdict\n{text}"));
    }
}
