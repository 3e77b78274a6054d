//! The sites of a case: itself, its own relatives, and the shared ones, which are made when a candidate has not shown yet how it fares
//! on them. Decides what runs where; must not judge.

use super::super::bundle::SweepCase;
use super::super::session::Context;
use super::super::site::Site;
use super::{Bench, BenchError, Run, with_activation};
use crate::gpu::Backing;
use crate::ops::case::Activation;
use crate::ops::families::probe_check;
use crate::ops::{Case, Family, OperandSet, hash};

impl Bench {
    /// Makes tensors and operands of the case (site 0) or one of its relatives. `further` are families that run on this site
    /// besides those that its kind always runs.
    pub(super) fn add_site(
        &mut self,
        context: &mut Context,
        sweep_case: &SweepCase,
        (at, case): (usize, &Case),
        further: &[(Family, OperandSet)],
        beat: &mut dyn FnMut(),
    ) -> Result<(), BenchError> {
        let is_shared = at > sweep_case.probes.len();
        let plain = case.without_activation();
        let mut site = Site::new(context, &mut self.sets, case, &self.bindings, Backing::Own)?;
        self.judge.add_site(case, is_shared);
        // Structure families run without an activation, which would hide faults; a probe's second set
        // runs with one, so that each is met on the fast path or on the general one.
        let activated =
            if site.shape.stride == 1 && site.shape.padding == 0 { Activation::Clamp } else { Activation::Relu };
        let mut operations: Vec<(Family, OperandSet, Case)> = if at == 0 {
            vec![
                (Family::I1, OperandSet::A, plain.clone()),
                (Family::I1, OperandSet::B, plain.clone()),
                (Family::I2, OperandSet::A, plain.clone()),
                (Family::R, OperandSet::A, case.clone()),
                (Family::R, OperandSet::B, case.clone()),
            ]
        } else if is_shared {
            vec![(Family::I1, OperandSet::A, plain.clone())]
        } else {
            vec![
                (Family::I1, OperandSet::A, plain.clone()),
                (Family::I1, OperandSet::B, with_activation(&plain, activated)?),
            ]
        };
        if at > 0 && !is_shared && !site.shape.activation.is_exact() {
            // What the function makes of ragged and padded shapes: integers run without it.
            operations.push((Family::R, OperandSet::A, case.clone()));
        }
        operations.extend(further.iter().map(|&(family, set)| (family, set, plain.clone())));
        operations.retain(|(family, ..)| context.weakening.runs(*family));
        let seed = context.bundle.manifest.seed;
        for (family, set, case) in operations {
            beat();
            let operands = context.references.operands(&case, family, set, seed, self.storage)?;
            if set == OperandSet::A {
                probe_check(&site.shape, family, &operands, self.storage, self.accumulate)?;
            }
            let given = case.id == plain.id && family == Family::I1;
            let expected = given
                .then(|| sweep_case.expected_i1.get(at).and_then(|pair| hash::from_text(&pair[set as usize])))
                .flatten();
            let run = Run { site: at, operation: site.operations.len() };
            let announced = self.judge.expect(run, &case, (family, set), expected, &mut context.references);
            announced.map_err(BenchError::Case)?;
            site.add_operation(context, &mut self.sets, &self.bindings, case, family, &operands)?;
        }
        self.sites.push(site);
        Ok(())
    }

    /// Makes the shared relatives, unless `candidate` has shown on some case before how it fares on all of them.
    pub(super) fn bring_shared(&mut self, context: &mut Context, candidate: usize) -> Result<(), BenchError> {
        let sweep_case = &context.bundle.manifest.cases[self.case];
        let n_own = 1 + sweep_case.probes.len();
        let has_shown = |case: &Case| has_shown(context, candidate, &case.id);
        if self.sites.len() > n_own || sweep_case.shared_probes.iter().all(has_shown) {
            return Ok(());
        }
        let sweep_case = sweep_case.clone();
        for (at, case) in sweep_case.all().enumerate().skip(n_own) {
            self.add_site(context, &sweep_case, (at, case), &[], &mut || {})?;
        }
        Ok(())
    }
}

/// Whether a candidate was right on a shared relative, on some case before. At another local size than its own, as on a device that does
/// not bear that, it is another kernel on each case.
pub(super) fn has_shown(context: &Context, candidate: usize, id: &str) -> bool {
    let local = context.bundle.manifest.candidates[candidate].local;
    context.device.capabilities().limits.bear(local) && context.passed_shared.contains(&(candidate, id.to_owned()))
}
