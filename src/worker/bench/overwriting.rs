//! A run over an older answer. Poison shows what was never written; a kernel that writes only where nothing stands passes over
//! poison each time, and does nothing in all but the first dispatch of a timed batch. Must not say what the fault is called.

use super::super::serve::Fatal;
use super::super::session::Context;
use super::super::site::Ground;
use super::Bench;
use crate::ops::Family;
use crate::verify::replays::Arm;
use crate::verify::{Verdict, Weakening, reading};

impl Bench {
    /// Runs the integers of set B over the answer of set A. `None` if the answer is that of set B.
    pub(super) fn overwriting_fault(
        &mut self,
        context: &mut Context,
        candidate: usize,
    ) -> Result<Option<Verdict>, Fatal> {
        if context.weakening == Weakening::NothingOverAnswers {
            return Ok(None);
        }
        let runs = self.runs_of(Family::I1);
        let &[before, over] = runs.as_slice() else { return Ok(None) };
        let (seen, _) = self.execute(context, candidate, &runs, (Arm::Warm, Ground::LastOutput), None)?;
        let is_new = !self.judge.is_wrong_integer(over, &seen[1]);
        if is_new {
            return Ok(None);
        }
        let shape = self.sites[over.site].shape;
        let values = self.standing(context, over.site)?;
        let found = self.judge.compare(over, &values, &shape, &mut context.references).map_err(Fatal::system)?;
        self.list_wrong(context, candidate, over, &found)?;
        let is_old = self.judge.exact_hash(before) == Some(seen[1].canonical);
        let id = &self.sites[over.site].operations[over.operation].case.id;
        Ok(Some(reading::not_overwritten(id, is_old, &found)))
    }
}
