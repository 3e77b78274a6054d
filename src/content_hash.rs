//! The short hash that names modules, bundles and cached references. Belongs to all stages, like [`crate::exit`].

/// First 16 hex digits of blake3.
pub fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}
