//! A file of wrong elements, for whoever wants to see them: expected and got, run by run. Knows comparisons; must not
//! decide anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::ops::{Family, OperandSet};
use crate::verify::compare::{BadElement, Comparison};

const HEADER: [&str; 11] = ["candidate", "case", "family", "operands", "n", "c", "y", "x", "expected", "within", "got"];

/// Rows are appended: a fresh worker goes on with the file of one that died.
pub struct WrongElements {
    out: csv::Writer<File>,
}

impl WrongElements {
    /// Opens or makes the file.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        cut_torn_row(&file)?;
        let is_new = file.metadata()?.len() == 0;
        let mut out = csv::Writer::from_writer(file);
        if is_new {
            out.write_record(HEADER)?;
            out.flush()?;
        }
        Ok(Self { out })
    }

    /// Appends what a comparison lists: `expected`, the distance from it `within` which an element is right (0 for
    /// exact integers), and what it is. `candidate` is `VARIANT@LOCAL`.
    ///
    /// # Errors
    /// What the system says.
    pub fn append(
        &mut self,
        candidate: &str,
        case: &str,
        (family, set): (Family, OperandSet),
        comparison: &Comparison,
    ) -> io::Result<()> {
        let set = format!("{set:?}");
        for BadElement { at, got, want, bound } in &comparison.bad {
            let [n, c, y, x] = at.map(|i| i.to_string());
            let [want, bound, got] = [want.to_string(), bound.to_string(), got.to_string()];
            self.out.write_record([candidate, case, family.name(), &set, &n, &c, &y, &x, &want, &bound, &got])?;
        }
        self.out.flush()
    }
}

/// A worker that was killed may have left half a row.
fn cut_torn_row(mut file: &File) -> io::Result<()> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let n_whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if n_whole < text.len() { file.set_len(n_whole as u64) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Weakening;
    use crate::verify::compare::Comparer;

    #[test]
    fn a_second_worker_appends_and_nan_is_written_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wrong_elements.csv");
        let comparison = Comparer(Weakening::None).exact(&[1.0, f32::NAN, 3.0, 9.0], &[1, 2, 3, 4], [1, 2, 1, 2]);
        for _ in 0..2 {
            let mut file = WrongElements::open(&path).unwrap();
            file.append("v@8x8x1", "4-2-1x2", (Family::I1, OperandSet::B), &comparison).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let rows = ["v@8x8x1,4-2-1x2,I1,B,0,0,0,1,2,0,NaN", "v@8x8x1,4-2-1x2,I1,B,0,1,0,1,4,0,9"];
        let expected = [[HEADER.join(",").as_str()].as_slice(), &rows, &rows].concat().join("\n") + "\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn half_a_row_of_a_killed_worker_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wrong_elements.csv");
        let whole = HEADER.join(",") + "\nv@8x8x1,4-2-1x2,I1,B,0,0,0,1,2,0,NaN\n";
        for (left, kept) in [(format!("{whole}v@8x8x1,4-2"), whole.clone()), ("cand".into(), HEADER.join(",") + "\n")] {
            std::fs::write(&path, left).unwrap();
            drop(WrongElements::open(&path).unwrap());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
        }
    }
}
