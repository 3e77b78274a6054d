//! The next command, as the person at hand would type it: by `cargo xtask`, or by the path that they called the program by,
//! with their `--project`. Every message that names a command asks here. Belongs to all stages, like [`crate::exit`].

use std::path::Path;
use std::sync::OnceLock;

/// Set by whoever passes a command on (`xtask` does), to how a person calls it.
pub const CALLED_AS: &str = "TILESMITH_CALLED_AS";
/// The project where no `--project` is given. `xtask` sets it where it is called from a subfolder of its workspace.
pub const PROJECT: &str = "TILESMITH_PROJECT";

static CALL: OnceLock<String> = OnceLock::new();

/// Remembers how this process was called: the program's first word, and the project if it is another than the default.
pub fn remember(program: &str, project: Option<&Path>) {
    CALL.get_or_init(|| call(std::env::var(CALLED_AS).ok(), program, project));
}

fn call(called_as: Option<String>, program: &str, project: Option<&Path>) -> String {
    // What passed the command on is a command line already, such as `cargo xtask`.
    let mut call = called_as.filter(|words| !words.is_empty()).unwrap_or_else(|| quoted(program));
    if let Some(project) = project {
        call += &format!(" --project {}", quoted(&project.display().to_string()));
    }
    call
}

/// `arguments` behind the program as it was called, to be copied into a shell.
pub fn command(arguments: &str) -> String {
    format!("{} {arguments}", CALL.get().map_or("tilesmith", String::as_str))
}

/// A command of xtask's own, which works in tilesmith's repository alone.
pub fn xtask(arguments: &str) -> String {
    let is_there = CALL.get().is_some_and(|call| call.starts_with("cargo xtask"));
    format!("cargo xtask {arguments}{}", if is_there { "" } else { "  # in tilesmith's own repository" })
}

/// A word as a shell wants it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:=,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_as_the_person_called_it() {
        let own = Path::new("my kernels");
        assert_eq!(call(None, "tilesmith", None), "tilesmith");
        assert_eq!(call(None, "/opt/t/tilesmith", Some(own)), "/opt/t/tilesmith --project 'my kernels'");
        assert_eq!(call(Some("cargo xtask".into()), "target/release/tilesmith", None), "cargo xtask");
        assert_eq!(call(Some("cargo xtask".into()), "x", Some(own)), "cargo xtask --project 'my kernels'");
        assert_eq!(call(Some(String::new()), "a b", None), "'a b'");
    }
}
