//! Shaders with one planted fault each, run like any candidate: the verifier must reject every one of them and admit its
//! healthy twin. A specimen is a folder with a `specimen.yaml`; what it changes is a copy of the project, its twin is the
//! project as it stands. Uses the sweep from outside; must not reach round it.

mod copy;
mod score;
mod specimen;
mod trial;

pub use score::{KindScore, Score};
pub use specimen::{Specimen, SpecimenError, load};
pub use trial::{Fate, Planned, Trial, TrialError, Tried};
