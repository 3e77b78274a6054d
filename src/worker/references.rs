//! Operands and what they must give, made from seeds once per case and kept while the case is in hand: all
//! given classes of a case share them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::matrix::Dtype;
use crate::ops::case::Conv2dShape;
use crate::ops::conv2d::{self, Sum};
use crate::ops::families::{operands, spread_indices};
use crate::ops::{Case, CaseError, Family, OperandSet, Operands};

/// Below so many multiply-adds every element of a random output is checked against its bound, above a sample.
const WHOLE_REFERENCE_MACS: usize = 1 << 24;

/// Which operands, of the case without its activation. Most whole numbers do not depend on the dtype they are stored in.
type OperandKey = (String, Family, OperandSet, Option<Dtype>);
/// Which integers they must give, of the case with its activation.
type ExactKey = (String, Family, OperandSet, Option<Dtype>);

#[derive(Default)]
pub struct References {
    /// The case in hand, by index in the bundle.
    case: Option<usize>,
    operands: HashMap<OperandKey, Arc<Operands>>,
    exact: HashMap<ExactKey, Arc<Vec<i32>>>,
}

impl References {
    /// Drops what belongs to another case.
    pub fn turn_to(&mut self, case: usize) {
        if self.case != Some(case) {
            *self = Self { case: Some(case), ..Self::default() };
        }
    }

    pub fn operands(
        &mut self,
        case: &Case,
        family: Family,
        set: OperandSet,
        seed: u64,
        storage: Dtype,
    ) -> Result<Arc<Operands>, CaseError> {
        let plain = case.without_activation();
        let key = (plain.id.clone(), family, set, family.depends_on_storage().then_some(storage));
        if let Some(found) = self.operands.get(&key) {
            return Ok(Arc::clone(found));
        }
        let made = Arc::new(operands(&plain, family, set, seed, storage)?);
        self.operands.insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// The exact output of an integer family.
    pub fn exact(
        &mut self,
        case: &Case,
        family: Family,
        set: OperandSet,
        seed: u64,
        storage: Dtype,
    ) -> Result<Arc<Vec<i32>>, String> {
        let key = (case.id.clone(), family, set, family.depends_on_storage().then_some(storage));
        if let Some(found) = self.exact.get(&key) {
            return Ok(Arc::clone(found));
        }
        let operands = self.operands(case, family, set, seed, storage).map_err(|e| e.to_string())?;
        let shape = Conv2dShape::of(case).map_err(|e| e.to_string())?;
        let exact = Arc::new(conv2d::exact(&shape, &operands).map_err(|e| e.to_string())?);
        self.exact.insert(key, Arc::clone(&exact));
        Ok(exact)
    }
}

/// Elements of a random output and what they must be: all of a small output, an even sample of a large one.
pub fn sampled(shape: &Conv2dShape, operands: &Operands) -> Result<(Vec<usize>, Vec<Sum>), String> {
    let n_samples = (WHOLE_REFERENCE_MACS / shape.n_terms().max(1)).max(1024);
    let indices = spread_indices(shape.n_output(), n_samples);
    let sums = conv2d::reference_at(shape, operands, &indices).map_err(|e| e.to_string())?;
    Ok((indices, sums))
}
