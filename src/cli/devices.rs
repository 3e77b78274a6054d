//! Asks a worker which devices there are. This process never opens Vulkan itself: a driver may hang or crash.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::gpu::Capabilities;
use crate::worker::protocol::Event;

/// Drivers of several large GPUs need some seconds to start.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The devices, or one line on why there are none.
pub fn ask(worker: &Path) -> Result<Vec<Capabilities>, String> {
    answer(worker, &["--list-devices"])
}

/// The one that a sweep would run on.
pub fn choose(worker: &Path, selector: Option<&str>) -> Result<Capabilities, String> {
    let mut args = vec!["--choose-device"];
    args.extend(selector.iter().flat_map(|selector| ["--device", selector]));
    answer(worker, &args)?.into_iter().next().ok_or_else(|| "the worker chose none".to_owned())
}

fn answer(worker: &Path, args: &[&str]) -> Result<Vec<Capabilities>, String> {
    let mut child = Command::new(worker)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} does not start: {error}", worker.display()))?;
    let Some(mut stdout) = child.stdout.take() else {
        return Err("the worker has no output".to_owned());
    };
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| bytes)
    });
    let deadline = Instant::now() + TIME_LIMIT;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("the Vulkan driver did not answer within {} s", TIME_LIMIT.as_secs()));
            }
            Err(error) => return Err(format!("cannot wait for the worker: {error}")),
        }
    };
    let bytes = match reader.join() {
        Ok(Ok(bytes)) => bytes,
        _ => return Err("the worker's answer cannot be read".to_owned()),
    };
    read_answer(&String::from_utf8_lossy(&bytes), &status.to_string())
}

/// A JSON array of capabilities, or a `fatal` event; `status` is for the message when it is neither.
fn read_answer(answer: &str, status: &str) -> Result<Vec<Capabilities>, String> {
    if let Ok(devices) = serde_json::from_str::<Vec<Capabilities>>(answer) {
        if devices.is_empty() {
            return Err("the Vulkan loader lists none".to_owned());
        }
        return Ok(devices);
    }
    let fatal = answer.lines().rev().find_map(|line| match serde_json::from_str(line) {
        Ok(Event::Fatal { message, .. }) => Some(message),
        _ => None,
    });
    Err(fatal
        .unwrap_or_else(|| format!("the worker ended with {status} and no answer; a Vulkan driver may have crashed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fatal_event_gives_its_own_words() {
        let answer = r#"{"event":"fatal","kind":"no_device","message":"no Vulkan loader"}"#;
        assert_eq!(read_answer(answer, "exit status: 4").unwrap_err(), "no Vulkan loader");
    }

    #[test]
    fn no_devices_and_no_answer_are_told_apart() {
        assert_eq!(read_answer("[]", "exit status: 0").unwrap_err(), "the Vulkan loader lists none");
        for answer in ["", "[{}]", "Segmentation fault"] {
            let problem = read_answer(answer, "signal: 11 (SIGSEGV)").unwrap_err();
            assert!(problem.contains("SIGSEGV"), "{problem}");
        }
    }

    #[test]
    fn a_worker_that_is_not_there_is_named() {
        let problem = ask(Path::new("/nonexistent/tilesmith-worker")).unwrap_err();
        assert!(problem.starts_with("/nonexistent/tilesmith-worker does not start"), "{problem}");
    }
}
