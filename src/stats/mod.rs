//! Robust statistics: pure functions of samples. Knows nothing of devices, files or candidates.
