//! Turns two timestamps into nanoseconds, and says when such a time cannot be believed.

use std::time::Duration;

use crate::gpu::Capabilities;
use crate::gpu::capabilities::Limits;

/// Fewer ticks than this tell more about the clock than about the kernel.
pub const MIN_TICKS: f64 = 20.0;

/// The device's timestamps, or the host's clock where the device has none.
#[derive(Debug, Clone, PartialEq)]
pub enum Clock {
    Timestamp {
        tick_ns: f64,
        valid_bits: u32,
    },
    /// `empty_ns` is the host's time for a submission that does nothing.
    Host {
        empty_ns: f64,
    },
}

impl Clock {
    /// The device's timestamps if it reports a usable period.
    pub fn of(capabilities: &Capabilities) -> Option<Self> {
        let Limits { timestamp_valid_bits: valid_bits, timestamp_period_ns, .. } = capabilities.limits;
        let tick_ns = timestamp_period_ns?;
        (valid_bits > 0).then_some(Clock::Timestamp { tick_ns, valid_bits })
    }

    /// The name that goes into every row.
    pub fn name(&self) -> &'static str {
        match self {
            Clock::Timestamp { .. } => "timestamp",
            Clock::Host { .. } => "host",
        }
    }

    /// Whether it measures what stands between two marks in a submission, and not the whole submission.
    pub fn is_of_device(&self) -> bool {
        matches!(self, Clock::Timestamp { .. })
    }

    /// Resolution of the clock.
    pub fn tick_ns(&self) -> f64 {
        match self {
            Clock::Timestamp { tick_ns, .. } => *tick_ns,
            // The host's clock has nanoseconds, but a submission's jitter is what limits it.
            Clock::Host { empty_ns } => empty_ns / MIN_TICKS,
        }
    }

    /// Nanoseconds between two timestamps (a counter of `valid_bits` may wrap once), or the host's time less an empty submission's.
    pub fn elapsed_ns(&self, ticks: [u64; 2], host: Duration) -> f64 {
        match self {
            Clock::Timestamp { tick_ns, valid_bits } => {
                let mask = if *valid_bits >= 64 { u64::MAX } else { (1 << valid_bits) - 1 };
                (ticks[1].wrapping_sub(ticks[0]) & mask) as f64 * tick_ns
            }
            Clock::Host { empty_ns } => (host.as_nanos() as f64 - empty_ns).max(0.0),
        }
    }

    /// Why the time of a whole sample cannot be trusted, if so. `host` is the host's time around it: the device
    /// cannot have worked longer than the host waited.
    pub fn doubt(&self, elapsed_ns: f64, host: Duration) -> Option<String> {
        let ticks = elapsed_ns / self.tick_ns();
        if elapsed_ns <= 0.0 {
            Some("the clock did not move".into())
        } else if ticks < MIN_TICKS {
            Some(format!("only {ticks:.0} ticks of {} ns", self.tick_ns()))
        } else if elapsed_ns > host.as_nanos() as f64 * 1.05 {
            Some(format!("{elapsed_ns:.0} ns by the device's clock, {} ns by the host's", host.as_nanos()))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock::Timestamp { tick_ns: 2.0, valid_bits: 36 };

    #[test]
    fn a_counter_may_wrap_once() {
        assert_eq!(CLOCK.elapsed_ns([(1 << 36) - 5, 95], Duration::ZERO), 200.0);
    }

    #[test]
    fn doubts_what_cannot_be() {
        let host = Duration::from_micros(10);
        assert!(CLOCK.doubt(0.0, host).is_some());
        assert!(CLOCK.doubt(38.0, host).is_some());
        assert!(CLOCK.doubt(11_000.0, host).is_some());
        assert_eq!(CLOCK.doubt(5_000.0, host), None);
    }

    #[test]
    fn the_host_clock_takes_off_an_empty_submission() {
        let clock = Clock::Host { empty_ns: 30_000.0 };
        assert_eq!(clock.elapsed_ns([0, 0], Duration::from_micros(130)), 100_000.0);
        assert_eq!(clock.elapsed_ns([0, 0], Duration::from_micros(20)), 0.0);
    }
}
