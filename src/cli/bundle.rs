//! The `bundle` command.

use super::{Common, Failure};
use crate::exit;

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_common: &Common, _args: &Args) -> Result<i32, Failure> {
    Ok(exit::OK)
}
