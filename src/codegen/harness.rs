//! tilesmith's own shaders: inspection of outputs, canaries, dirtying of shared memory, feeding of inputs. Plain GLSL that
//! travels in the program; must not know kernels.

use super::cache::Cache;
use super::compiler::{CompileError, Compiler, FLAGS, TARGET_ENV, compiler_version};
use super::reflection::{Reflection, ReflectionError};
use crate::content_hash::short_hash;

const SOURCES: [(&str, &str); 4] = [
    ("inspect", include_str!("harness/inspect.comp")),
    ("canary_arithmetic", include_str!("harness/canary_arithmetic.comp")),
    ("canary_bandwidth", include_str!("harness/canary_bandwidth.comp")),
    ("dirty_shared", include_str!("harness/dirty_shared.comp")),
];

/// What gives an input anew, for each of its targets.
const FEED: &str = include_str!("harness/feed.comp");
const FEED_TARGETS: [&str; 3] = ["TARGET_BUFFER", "TARGET_IMAGE_F32", "TARGET_IMAGE_F16"];

/// Why one of tilesmith's own shaders gave no module.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum HarnessError {
    #[error("tilesmith's own shader {shader} does not compile: {source}")]
    Compile { shader: &'static str, source: CompileError },
    #[error("tilesmith's own shader {shader} cannot be reflected: {source}")]
    Reflect { shader: &'static str, source: ReflectionError },
}

/// One compiled shader of the harness.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessModule {
    pub spirv_bytes: Vec<u8>,
    /// blake3 of the SPIR-V, 16 hex digits.
    pub spirv_hash: String,
    pub reflection: Reflection,
}

/// All of them; `worker::bundle::Harness` names them by hash.
#[derive(Debug, Clone, PartialEq)]
pub struct Harness {
    pub inspect: HarnessModule,
    pub canary_arithmetic: HarnessModule,
    pub canary_bandwidth: HarnessModule,
    pub dirty_shared: HarnessModule,
    pub feed_buffer: HarnessModule,
    pub feed_image_f32: HarnessModule,
    pub feed_image_f16: HarnessModule,
}

impl Harness {
    pub fn modules(&self) -> [&HarnessModule; 7] {
        let Self { inspect, canary_arithmetic, canary_bandwidth, dirty_shared, .. } = self;
        let Self { feed_buffer, feed_image_f32, feed_image_f16, .. } = self;
        [inspect, canary_arithmetic, canary_bandwidth, dirty_shared, feed_buffer, feed_image_f32, feed_image_f16]
    }
}

/// Compiles the harness, through the user's cache.
pub fn compile() -> Result<Harness, HarnessError> {
    let cache = Cache::of_user();
    let version = compiler_version();
    let module = |(shader, source): (&'static str, &str)| -> Result<HarnessModule, HarnessError> {
        let key = Cache::key(source, FLAGS, &version, TARGET_ENV);
        let spirv_bytes = match cache.get(&key) {
            Some(bytes) => bytes,
            None => {
                let bytes = Compiler::new()
                    .and_then(|compiler| compiler.compile(source))
                    .map_err(|source| HarnessError::Compile { shader, source })?;
                // A cache that cannot be written costs this much again, and nothing else.
                let _ = cache.put(&key, &bytes);
                bytes
            }
        };
        let reflection = Reflection::read(&spirv_bytes).map_err(|source| HarnessError::Reflect { shader, source })?;
        Ok(HarnessModule { spirv_hash: short_hash(&spirv_bytes), spirv_bytes, reflection })
    };
    let [inspect, canary_arithmetic, canary_bandwidth, dirty_shared] = SOURCES;
    let feed = |target: &'static str| module((target, &format!("#version 450\n#define {target}\n{FEED}")));
    let [feed_buffer, feed_image_f32, feed_image_f16] = FEED_TARGETS;
    Ok(Harness {
        inspect: module(inspect)?,
        canary_arithmetic: module(canary_arithmetic)?,
        canary_bandwidth: module(canary_bandwidth)?,
        dirty_shared: module(dirty_shared)?,
        feed_buffer: feed(feed_buffer)?,
        feed_image_f32: feed(feed_image_f32)?,
        feed_image_f16: feed(feed_image_f16)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_compiles_and_needs_no_feature() {
        let harness = compile().unwrap();
        for module in harness.modules() {
            assert_eq!(module.reflection.requirements().features, Vec::<String>::new());
            assert!(!module.reflection.bindings.is_empty());
            assert_eq!(module.spirv_hash.len(), 16);
        }
        assert!(harness.dirty_shared.reflection.shared_bytes > 0);
    }
}
