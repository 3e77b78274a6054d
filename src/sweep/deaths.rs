//! The workers that a sweep lost, and what that says: nothing while others bring results, that a case and class cannot be
//! had on this device, or that no fresh worker will mend it. Must not know workers, candidates or verdicts.

/// A case and class on which so many workers in a row died with no candidate in flight is closed; so many workers in a row
/// without a hello, or cases and classes in a row that were closed, end the sweep.
pub const MAX_IN_A_ROW: u32 = 3;
/// A device on which this many workers in a row died without a result will not be mended, whoever was in flight.
const MAX_WITHOUT_RESULT: u32 = 24;

/// Indices of a case and of a given class.
type CaseGiven = (usize, usize);

#[derive(Debug, Default)]
pub struct Deaths {
    /// Since the last result, as are all others here.
    n: u32,
    n_without_hello: u32,
    /// Where the last ones died with no candidate in flight, and how many.
    idle: Option<(CaseGiven, u32)>,
    closed: Vec<CaseGiven>,
    last: String,
}

impl Deaths {
    /// A worker brought a result, or a person started the sweep again: earlier deaths say nothing any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// A worker ended before its hello.
    pub fn without_hello(&mut self, how: &str) {
        self.note(how);
        self.n_without_hello += 1;
    }

    /// A worker died with a candidate or a chain in flight.
    pub fn with_suspect(&mut self, how: &str) {
        self.note(how);
        self.n_without_hello = 0;
        self.idle = None;
    }

    /// A worker died while the operands of a case and class were made, or its canary ran. Whether that was once too often.
    pub fn idle(&mut self, at: CaseGiven, how: &str) -> bool {
        self.note(how);
        self.n_without_hello = 0;
        let n = self.idle.filter(|(last, _)| *last == at).map_or(0, |(_, n)| n) + 1;
        self.idle = Some((at, n));
        let is_closed = n >= MAX_IN_A_ROW;
        if is_closed {
            self.idle = None;
            self.closed.push(at);
        }
        is_closed
    }

    fn note(&mut self, how: &str) {
        self.n += 1;
        self.last = how.to_owned();
    }

    /// Why no further worker should be started, for a person.
    pub fn give_up(&self) -> Option<String> {
        let last = &self.last;
        if self.n_without_hello >= MAX_IN_A_ROW {
            return Some(format!("{} workers in a row did not come up; the last one: {last}", self.n_without_hello));
        }
        // All classes of one case say something of that case only: it may be too much for the device.
        let of_several = self.closed.iter().any(|(case, _)| *case != self.closed[0].0);
        if of_several && self.closed.len() >= MAX_IN_A_ROW as usize {
            return Some(format!(
                "on each of {} cases and classes in a row {MAX_IN_A_ROW} workers died with no candidate in flight; the last \
                 one: {last}",
                self.closed.len()
            ));
        }
        (self.n >= MAX_WITHOUT_RESULT)
            .then(|| format!("{} workers in a row died without a result; the last one: {last}", self.n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(deaths: &mut Deaths, at: CaseGiven) {
        assert_eq!([(); 3].map(|()| deaths.idle(at, "signal 6")), [false, false, true]);
    }

    #[test]
    fn deaths_of_one_case_and_class_close_it_and_results_between_save_it() {
        let mut deaths = Deaths::default();
        close(&mut deaths, (0, 0));
        let at = (1, 0);
        assert!(!deaths.idle(at, "") && !deaths.idle(at, ""));
        deaths.with_suspect("");
        assert!(!deaths.idle(at, "") && !deaths.idle(at, ""), "somebody else was to blame in between");
        deaths.forget();
        assert!(!deaths.idle(at, "") && !deaths.idle(at, ""));
        assert!(!deaths.idle((1, 1), ""));
    }

    #[test]
    fn one_case_never_ends_a_sweep_and_three_do() {
        let mut deaths = Deaths::default();
        (0..6).for_each(|given| close(&mut deaths, (0, given)));
        assert_eq!(deaths.give_up(), None);
        deaths.forget();
        for case in 0..3 {
            assert_eq!(deaths.give_up(), None);
            close(&mut deaths, (case, 0));
        }
        assert!(deaths.give_up().is_some_and(|why| why.contains("3 cases") && why.contains("signal 6")));
    }

    #[test]
    fn workers_that_do_not_come_up_count_in_a_row_only() {
        let mut deaths = Deaths::default();
        for _ in 0..2 {
            deaths.without_hello("");
            deaths.without_hello("");
            assert_eq!(deaths.give_up(), None);
            deaths.with_suspect("");
        }
        (0..3).for_each(|_| deaths.without_hello("code 1"));
        assert!(deaths.give_up().is_some_and(|why| why.starts_with("3 workers in a row did not come up")));
    }

    #[test]
    fn suspects_without_end_end_the_sweep() {
        let mut deaths = Deaths::default();
        (1..MAX_WITHOUT_RESULT).for_each(|_| deaths.with_suspect(""));
        assert_eq!(deaths.give_up(), None);
        deaths.with_suspect("signal 6");
        assert!(deaths.give_up().is_some_and(|why| why.starts_with("24 workers")));
    }
}
