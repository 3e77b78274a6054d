//! The GPU's clock as the kernel's sysfs tells it: some faults show at the top clock alone. Reads files; nothing here is
//! relied on, and a device that says nothing has no clock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::gpu::Capabilities;

/// Between two readings: a clock changes within some ten milliseconds.
const READ_EVERY: Duration = Duration::from_millis(5);

/// How a file says it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// A number of so many hertz each.
    Number { hz: f64 },
    /// amdgpu's table of levels, such as `1: 800Mhz *`, the present one marked.
    Levels,
}

/// Where a device's clock can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Frequency {
    path: PathBuf,
    form: Form,
}

impl Frequency {
    /// The first file below `sys` (`/sys`) that gives the clock of this device.
    pub fn find(sys: &Path, device: &Capabilities) -> Option<Frequency> {
        if device.kind == "cpu" {
            return None;
        }
        let number = |path: PathBuf, hz| Frequency { path, form: Form::Number { hz } };
        let mut places = Vec::new();
        for card in folders(&sys.join("class/drm")) {
            let id = |name: &str| {
                let text = std::fs::read_to_string(card.join("device").join(name)).ok()?;
                u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
            };
            if (id("vendor"), id("device")) != (Some(device.vendor_id), Some(device.device_id)) {
                continue;
            }
            places.push(Frequency { path: card.join("device/pp_dpm_sclk"), form: Form::Levels });
            places.push(number(card.join("gt_act_freq_mhz"), 1e6));
            places.push(number(card.join("device/tile0/gt0/freq0/act_freq"), 1e6));
        }
        places.push(number(sys.join("class/kgsl/kgsl-3d0/gpuclk"), 1.0));
        // Buses and memory are there too; only these are a GPU's.
        let is_gpu = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            ["gpu", "mali", "kgsl"].iter().any(|part| name.contains(part))
        };
        let of_a_gpu = folders(&sys.join("class/devfreq")).into_iter().filter(is_gpu);
        places.extend(of_a_gpu.map(|folder| number(folder.join("cur_freq"), 1.0)));
        places.into_iter().find(|place| place.read_mhz().is_some())
    }

    pub fn read_mhz(&self) -> Option<f64> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let mhz = match self.form {
            Form::Number { hz } => text.trim().parse::<f64>().ok()? * hz / 1e6,
            Form::Levels => {
                let present = text.lines().find(|line| line.trim_end().ends_with('*'))?;
                let level = present.split_once(':')?.1.trim_end_matches('*').trim().to_lowercase();
                level.trim_end_matches("mhz").trim().parse().ok()?
            }
        };
        (mhz.is_finite() && mhz > 0.0).then_some(mhz)
    }

    /// Reads it beside what runs until [`Readings::end`].
    pub fn watch(&self) -> Readings {
        let is_over = Arc::new(AtomicBool::new(false));
        let (place, flag) = (self.clone(), Arc::clone(&is_over));
        let reader = std::thread::spawn(move || {
            let mut mhz = Vec::new();
            loop {
                // First a moment of work: before it the clock is that of an idle device.
                std::thread::sleep(READ_EVERY);
                mhz.extend(place.read_mhz());
                if flag.load(Ordering::SeqCst) {
                    return mhz;
                }
            }
        });
        Readings { is_over, reader }
    }
}

/// In sorted order, so that the same one is found each time.
fn folders(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Readings that are being taken.
pub struct Readings {
    is_over: Arc<AtomicBool>,
    reader: JoinHandle<Vec<f64>>,
}

impl Readings {
    /// The lowest, the median and the highest reading.
    pub fn end(self) -> Option<[f64; 3]> {
        self.is_over.store(true, Ordering::SeqCst);
        let mhz = self.reader.join().ok()?;
        let low = mhz.iter().copied().reduce(f64::min)?;
        let high = mhz.iter().copied().reduce(f64::max)?;
        Some([low, crate::stats::median(&mhz)?, high])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: &str) -> Capabilities {
        let limits = serde_json::json!({"max_invocations": 1, "max_local_size": [1, 1, 1], "max_group_count": [1, 1, 1],
            "max_shared_bytes": 0, "max_push_bytes": 0, "max_image_2d": 1, "max_image_3d": 1, "max_storage_range_bytes": 1,
            "min_storage_offset_align_bytes": 1, "subgroup_size": 1, "timestamp_valid_bits": 0, "timestamp_period_ns": null});
        let device = serde_json::json!({"index": 0, "name": "a GPU", "vendor_id": 0x1002, "device_id": 0x73bf, "kind": kind,
            "driver_id": 0, "driver_name": "", "driver_info": "", "driver_version": 0, "api_version": "1.3.0",
            "limits": limits, "features": []});
        serde_json::from_value(device).unwrap()
    }

    fn found(files: &[(&str, &str)], kind: &str) -> Option<f64> {
        let sys = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = sys.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Frequency::find(sys.path(), &device(kind)).and_then(|place| place.read_mhz())
    }

    #[test]
    fn each_form_is_read_and_the_right_card_is_chosen() {
        let amd = [
            ("class/drm/card0/device/vendor", "0x1002\n"),
            ("class/drm/card0/device/device", "0x15bf\n"),
            ("class/drm/card0/device/pp_dpm_sclk", "0: 400Mhz *\n1: 800Mhz\n"),
            ("class/drm/card1/device/vendor", "0x1002\n"),
            ("class/drm/card1/device/device", "0x73bf\n"),
            ("class/drm/card1/device/pp_dpm_sclk", "0: 500Mhz\n1: 2100Mhz *\n"),
        ];
        assert_eq!(found(&amd, "discrete"), Some(2100.0));
        assert_eq!(found(&amd[..3], "discrete"), None, "another card's clock is none");
        assert_eq!(found(&[("class/kgsl/kgsl-3d0/gpuclk", "826000000\n")], "integrated"), Some(826.0));
        let bus_and_gpu = [
            ("class/devfreq/17000010.devfreq_mif/cur_freq", "1794000"),
            ("class/devfreq/28000000.mali/cur_freq", "461000000"),
        ];
        assert_eq!(found(&bus_and_gpu, "integrated"), Some(461.0));
        assert_eq!(found(&bus_and_gpu[..1], "integrated"), None);
        assert_eq!(found(&bus_and_gpu, "cpu"), None, "a CPU device is not that GPU");
        assert_eq!(found(&[("class/kgsl/kgsl-3d0/gpuclk", "busy\n")], "integrated"), None);
    }

    #[test]
    fn readings_are_summed_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpuclk");
        std::fs::write(&path, "461000000").unwrap();
        let place = Frequency { path, form: Form::Number { hz: 1.0 } };
        assert_eq!(place.watch().end(), Some([461.0; 3]), "one at least");
    }
}
