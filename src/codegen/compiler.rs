//! GLSL to validated SPIR-V, in process. Knows shaderc and the validator that its static library brings;
//! must not know templates, kernels or the cache.
//!
//! shaderc refuses a module that its optimiser cannot finish, so there is no silent fallback to look for.

use std::ffi::{CStr, c_char, c_int};

/// What every module is compiled for, and how; part of the cache key.
pub const FLAGS: &str = "kind=compute entry=main optimize=performance warnings=on";
pub const TARGET_ENV: &str = "vulkan1.1 spirv1.3";
/// The bundled shaderc, pinned in Cargo.toml.
const SHADERC: &str = "shaderc 0.10.1";

/// Why a source gave no module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error("{}", messages(.0))]
    Glsl(Vec<GlslMessage>),
    /// At this line, from 1, or nowhere.
    #[error("the source does not begin with a #version line of 310 or above")]
    NoVersion(usize),
    #[error("the module is not valid SPIR-V: {0}")]
    Invalid(String),
    #[error("the compiler failed: {0}")]
    Internal(String),
}

/// One complaint of the GLSL front end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlslMessage {
    /// Line of the rendered source, from 1.
    pub line: Option<usize>,
    pub text: String,
}

fn messages(all: &[GlslMessage]) -> String {
    let one = |m: &GlslMessage| m.line.map_or(m.text.clone(), |line| format!("line {line}: {}", m.text));
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Version of compiler and validator: part of the cache key and of a result's provenance.
pub fn compiler_version() -> String {
    // SAFETY: returns a static, null-terminated string.
    let tools = unsafe { CStr::from_ptr(spvSoftwareVersionString()) }.to_string_lossy().into_owned();
    format!("{SHADERC}, SPIRV-Tools {tools}")
}

/// One compiler for each working thread.
pub struct Compiler {
    shaderc: shaderc::Compiler,
}

impl Compiler {
    pub fn new() -> Result<Compiler, CompileError> {
        shaderc::Compiler::new()
            .map(|shaderc| Compiler { shaderc })
            .map_err(|error| CompileError::Internal(error.to_string()))
    }

    /// Compiles, optimises and validates one compute shader.
    pub fn compile(&self, source: &str) -> Result<Vec<u8>, CompileError> {
        self.compile_at(source, shaderc::OptimizationLevel::Performance, false)
    }

    /// The same source as it was written, with lines and names: for a message about it, never for a device.
    pub fn compile_for_debugging(&self, source: &str) -> Result<Vec<u8>, CompileError> {
        self.compile_at(source, shaderc::OptimizationLevel::Zero, true)
    }

    fn compile_at(
        &self,
        source: &str,
        optimization: shaderc::OptimizationLevel,
        with_debug_info: bool,
    ) -> Result<Vec<u8>, CompileError> {
        // The bindings to shaderc panic on an inner NUL.
        if let Some(at) = source.find('\0') {
            let line = source[..at].matches('\n').count() + 1;
            return Err(CompileError::Glsl(vec![GlslMessage {
                line: Some(line),
                text: "a NUL character in the source".into(),
            }]));
        }
        if let Err(line) = check_version(source) {
            return Err(CompileError::NoVersion(line));
        }
        let mut options = shaderc::CompileOptions::new().map_err(|error| CompileError::Internal(error.to_string()))?;
        options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_1 as u32);
        options.set_target_spirv(shaderc::SpirvVersion::V1_3);
        options.set_source_language(shaderc::SourceLanguage::GLSL);
        options.set_optimization_level(optimization);
        if with_debug_info {
            options.set_generate_debug_info();
        }
        let artifact = self
            .shaderc
            .compile_into_spirv(source, shaderc::ShaderKind::Compute, SOURCE_NAME, "main", Some(&options))
            .map_err(|error| match error {
                shaderc::Error::CompilationError(_, text) => CompileError::Glsl(parse_messages(&text)),
                other => CompileError::Internal(other.to_string()),
            })?;
        validate(artifact.as_binary())?;
        Ok(artifact.as_binary_u8().to_vec())
    }
}

/// The number of the first line of code, where that is not `#version` with a number that the front end knows what to do
/// with: of anything older, or nothing, it takes the built-in functions apart, and prints a megabyte about it on stdout.
fn check_version(source: &str) -> Result<(), usize> {
    let mut is_comment = false;
    for (at, line) in source.lines().enumerate() {
        let mut code = line.trim();
        loop {
            if is_comment {
                let Some((_, behind)) = code.split_once("*/") else { break code = "" };
                (code, is_comment) = (behind.trim_start(), false);
            } else if let Some(inside) = code.strip_prefix("/*") {
                (code, is_comment) = (inside, true);
            } else {
                break;
            }
        }
        if code.is_empty() || code.starts_with("//") {
            continue;
        }
        let words = code.strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("version"));
        let number = words.and_then(|rest| rest.split_whitespace().next()).and_then(|n| n.parse::<u32>().ok());
        return if number.is_some_and(|n| n >= 310) { Ok(()) } else { Err(at + 1) };
    }
    Err(1)
}

/// Stands before the line number in the compiler's messages.
const SOURCE_NAME: &str = "rendered";

/// `rendered:12: error: 'x' : undeclared identifier`, one a line; the closing count is left out.
fn parse_messages(text: &str) -> Vec<GlslMessage> {
    let mut messages: Vec<GlslMessage> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some(rest) = line.strip_prefix(SOURCE_NAME).and_then(|rest| rest.strip_prefix(':')) else {
            if !line.ends_with("generated.") {
                messages.push(GlslMessage { line: None, text: line.to_string() });
            }
            continue;
        };
        let (number, message) = rest.split_once(':').unwrap_or(("", rest));
        let (number, message) = match number.trim().parse() {
            Ok(number) => (Some(number), message),
            Err(_) => (None, rest),
        };
        let message = message.trim();
        if message.starts_with("warning:") {
            continue;
        }
        messages.push(GlslMessage {
            line: number,
            text: message.strip_prefix("error:").unwrap_or(message).trim().to_string(),
        });
    }
    if messages.is_empty() {
        messages.push(GlslMessage { line: None, text: text.trim().to_string() });
    }
    messages
}

#[repr(C)]
struct SpvPosition {
    line: usize,
    column: usize,
    index: usize,
}

#[repr(C)]
struct SpvDiagnostic {
    position: SpvPosition,
    error: *mut c_char,
    is_text_source: bool,
}

#[repr(C)]
struct SpvContext {
    _private: [u8; 0],
}

/// `SPV_ENV_VULKAN_1_1` of spirv-tools/libspirv.h.
const SPV_ENV_VULKAN_1_1: c_int = 18;
const SPV_SUCCESS: c_int = 0;

// libshaderc_combined.a, which the shaderc crate links, exports these. The header marks them C.
unsafe extern "C" {
    fn spvSoftwareVersionString() -> *const c_char;
    fn spvContextCreate(env: c_int) -> *mut SpvContext;
    fn spvContextDestroy(context: *mut SpvContext);
    fn spvValidateBinary(
        context: *const SpvContext,
        words: *const u32,
        n_words: usize,
        diagnostic: *mut *mut SpvDiagnostic,
    ) -> c_int;
    fn spvDiagnosticDestroy(diagnostic: *mut SpvDiagnostic);
}

/// Validates a module for Vulkan 1.1.
pub fn validate(words: &[u32]) -> Result<(), CompileError> {
    // SAFETY: the context is made and destroyed here; the words outlive the call; a diagnostic, where there is one,
    // belongs to us and holds a null-terminated text.
    unsafe {
        let context = spvContextCreate(SPV_ENV_VULKAN_1_1);
        if context.is_null() {
            return Err(CompileError::Internal("no validator for Vulkan 1.1".into()));
        }
        let mut diagnostic: *mut SpvDiagnostic = std::ptr::null_mut();
        let result = spvValidateBinary(context, words.as_ptr(), words.len(), &mut diagnostic);
        let text = if diagnostic.is_null() || (*diagnostic).error.is_null() {
            format!("code {result}")
        } else {
            CStr::from_ptr((*diagnostic).error).to_string_lossy().trim().to_string()
        };
        if !diagnostic.is_null() {
            spvDiagnosticDestroy(diagnostic);
        }
        spvContextDestroy(context);
        if result == SPV_SUCCESS { Ok(()) } else { Err(CompileError::Invalid(text)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "#version 450\nlayout(local_size_x_id = 0) in;\nvoid main() {}\n";

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    #[test]
    fn a_module_is_spirv_1_3_and_valid() {
        let words = words(&Compiler::new().unwrap().compile(EMPTY).unwrap());
        assert_eq!((words[0], words[1]), (0x0723_0203, 0x0001_0300));
        validate(&words).unwrap();
    }

    #[test]
    fn the_validator_sees_a_broken_module() {
        let mut words = words(&Compiler::new().unwrap().compile(EMPTY).unwrap());
        words.truncate(words.len() - 1);
        assert!(matches!(validate(&words), Err(CompileError::Invalid(_))));
    }

    #[test]
    fn a_source_begins_with_its_version() {
        for right in ["#version 450", "\n// what it is\n#version 450", "/* a\n b */ /* c */ # version 310 es // 100"] {
            assert_eq!(check_version(right), Ok(()), "{right}");
        }
        for (wrong, line) in [
            ("", 1),
            ("\nvoid main() {}", 2),
            ("// #version 450\nvoid main() {}", 2),
            ("#version", 1),
            ("#version 130", 1),
            ("#define X\n#version 450", 1),
            ("/*/ #version 450", 1),
        ] {
            assert_eq!(check_version(wrong), Err(line), "{wrong}");
        }
        assert_eq!(Compiler::new().unwrap().compile("\nint x;"), Err(CompileError::NoVersion(2)));
    }

    #[test]
    fn complaints_carry_their_line() {
        let error = Compiler::new().unwrap().compile("#version 450\nvoid main() {\n    int x = y;\n}\n").unwrap_err();
        let CompileError::Glsl(messages) = &error else { panic!("{error}") };
        assert_eq!(messages[0].line, Some(3));
        assert!(messages[0].text.contains("'y'"), "{error}");
        let nul = Compiler::new().unwrap().compile("#version 450\n\0").unwrap_err();
        assert_eq!(nul.to_string(), "line 2: a NUL character in the source");
    }
}
