//! Which start of the machine this is: a sweep whose order was cut off by a restart has a suspect, one that was only killed has none.

/// Differs after each start of the machine; `None` where the system does not say.
pub fn identity() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}
