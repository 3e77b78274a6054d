//! One convolution in four orders of its loops: what a legal order changes and what a rounding at another point does must not
//! be taken for each other. Needs a Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::Path;

use tilesmith::sweep::applicability::misfit;
use tilesmith::sweep::plan;
use tilesmith::verify::{Kind, Status, Verdict};
use tilesmith::worker::protocol::{Event, Order};
use tilesmith::worker::serve::Engine;
use tilesmith::worker::session::Session;

mod session_events;
use session_events::ask;

const SWEEP: &str = "{schema: 1, kernel: conv2d_7x7, local: [[4, 16, 1]],
  cases: [{c_in: 3, c_out: 64, h: 30, w: 30, kernel_h: 7, kernel_w: 7, stride: 2}]}";

/// Storage, loop order and verdict of each candidate.
fn verdicts() -> Vec<(String, String, Verdict)> {
    let project = plan::load_project(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sweep = folder.path().join("loop_orders.yaml");
    std::fs::write(&sweep, SWEEP).unwrap();
    let planned = plan::plan(&project, &sweep, &|_, _| {}).unwrap();
    let bundle = planned.save(&folder.path().join("bundle")).unwrap();
    let manifest = &bundle.manifest;
    let mut session = Session::open(&bundle.dir, None).unwrap();
    let Event::Hello { device, .. } = session.hello() else { panic!("no hello") };
    let can_run = |candidate: &usize| misfit(manifest, &device, 0, *candidate).is_none();
    let candidates: Vec<usize> = (0..manifest.candidates.len()).filter(can_run).collect();
    let events = ask(&mut session, &Order::Verify { case: 0, candidates, ahead: Vec::new() });
    let verified = events.into_iter().filter_map(|event| match event {
        Event::Verified(verified) => Some(verified),
        _ => None,
    });
    verified
        .map(|verified| {
            let variant = &manifest.variants[manifest.candidates[verified.candidate].variant].variant;
            let axis = |name: &str| variant.axes.iter().find(|a| a.axis == name).unwrap().value.clone();
            (axis("storage"), axis("loop_order"), verified.verdict)
        })
        .collect()
}

#[test]
fn an_order_is_legal_and_a_rounding_at_another_point_is_not() {
    let found = verdicts();
    let of = |storage: &str, order: &str| -> Vec<&Verdict> {
        found.iter().filter(|(s, o, _)| s == storage && o == order).map(|(.., verdict)| verdict).collect()
    };
    for storage in ["f32", "f16"] {
        for verdict in of(storage, "rx_ry_rc") {
            assert_eq!(verdict.status, Status::Admitted, "{verdict:?}");
            let says = ["legal rounding", "mean ", "max ", "bound there"];
            // Sums of f16 outputs may round to the same bits in either order.
            let differs = says.iter().all(|part| verdict.detail.contains(part));
            assert!(differs || storage == "f16", "{verdict:?}");
        }
        for verdict in [of(storage, "ry_rx_rc"), of(storage, "ry_ff_reg")].concat() {
            assert_eq!(*verdict, Verdict::admitted(), "bit-identical, so nothing is said");
        }
    }
    assert_eq!((of("f32", "rx_ry_rc").len(), of("f32", "ry_ff_reg").len()), (2, 2));
    // Without 16-bit storage nothing of f16 ran.
    assert_eq!(of("f16", "ry_ff").len(), of("f16", "rx_ry_rc").len());
    for verdict in of("f16", "ry_ff") {
        assert_eq!((verdict.status, verdict.kind), (Status::Rejected, Some(Kind::PrecisionClass)), "{verdict:?}");
        assert!(verdict.detail.contains("rounded at another point"), "{verdict:?}");
        assert!(!verdict.detail.contains("legal rounding"), "{verdict:?}");
    }
}
