//! How much memory this process may still take, so that a case too large for the machine is refused with words: an
//! allocation that fails ends the process, and one that the system only promised ends any. Belongs to all stages.

use std::path::Path;

/// The least of what the system, a limit of its group and a limit of the process leave; `None` where nothing says.
pub fn available_bytes() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let meminfo = kib_of(&read(Path::new("/proc/meminfo")), "MemAvailable:");
    let limit = address_limit(&read(Path::new("/proc/self/limits")));
    let taken = kib_of(&read(Path::new("/proc/self/status")), "VmSize:");
    let own = limit.map(|limit| limit.saturating_sub(taken.unwrap_or(0)));
    // Version 2 of control groups, as a container sees its own.
    let number = |name: &str| read(&Path::new("/sys/fs/cgroup").join(name)).trim().parse::<u64>().ok();
    let group = number("memory.max").zip(number("memory.current")).map(|(max, now)| max.saturating_sub(now));
    [meminfo, own, group].into_iter().flatten().min()
}

/// `MemAvailable:   23423 kB`
fn kib_of(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit in `Max address space   4096000000   unlimited   bytes`.
fn address_limit(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// `12.3 GB`, `456 MB`
pub fn in_words(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes >= 1e9 { format!("{:.1} GB", bytes / 1e9) } else { format!("{:.0} MB", bytes / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(kib_of("MemTotal: 9 kB\nMemAvailable:   23423 kB\n", "MemAvailable:"), Some(23423 * 1024));
        assert_eq!(kib_of("MemAvailable: many kB\n", "MemAvailable:"), None);
        let limits =
            |soft: &str| format!("Max stack size  8 9 bytes\nMax address space         {soft}      unlimited  bytes\n");
        assert_eq!(address_limit(&limits("4096000000")), Some(4_096_000_000));
        assert_eq!(address_limit(&limits("unlimited")), None);
        assert_eq!((in_words(12_340_000_000), in_words(456_400_000)), ("12.3 GB".into(), "456 MB".into()));
    }
}
