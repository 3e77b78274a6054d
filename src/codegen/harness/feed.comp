// Gives a candidate's input anew, right before the candidate and in the same command buffer, as the activation before it in a
// network does. It loads what the operand was uploaded as, computes SiLU of it, x / (1 + exp(-x)), and stores, for each word,
//   (stored & keep) ^ (activated & activation) | poison
// The host passes keep = ~0 and zeros to give the operand back bit for bit, so that the outputs are those of any other replay; only
// it knows that activation is zero, so no compiler leaves the arithmetic out. With keep = 0 and a NaN it poisons the input first.
//
// One of three targets, as the input lies: TARGET_BUFFER, TARGET_IMAGE_F32, TARGET_IMAGE_F16 (3-D images, all texels).
// Needs no optional feature.

layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;

// Texels of 4 lanes, tightly packed: f32: 4 words, f16: 2 words.
layout(set = 0, binding = 0, std430) restrict readonly buffer source_block { uint source[]; };
#if defined(TARGET_IMAGE_F32)
layout(set = 0, binding = 1, rgba32f) restrict writeonly uniform image3D target;
#elif defined(TARGET_IMAGE_F16)
layout(set = 0, binding = 1, rgba16f) restrict writeonly uniform image3D target;
#else
layout(set = 0, binding = 1, std430) restrict writeonly buffer target_block { uint target[]; };
#endif

layout(push_constant, std430) uniform push_block {
    uint is_f16;        // of a buffer
    uint n_texels;
    uint width;         // of an image, in texels
    uint height;
    uint keep;
    uint activation;
    uint poison;        // for f16 the pattern stands in both halves
    uint n_invocations; // of the whole dispatch: the stride of the loop over texels
};

vec4 silu(vec4 x) {
    return x / (1.0 + exp(-x));
}

uvec4 mixed(uvec4 stored, uvec4 activated) {
    return ((stored & keep) ^ (activated & activation)) | poison;
}

uvec4 texel_f32(uint texel) {
    const uint at = texel * 4u;
    const uvec4 stored = uvec4(source[at], source[at + 1u], source[at + 2u], source[at + 3u]);
    return mixed(stored, floatBitsToUint(silu(uintBitsToFloat(stored))));
}

uvec2 texel_f16(uint texel) {
    const uint at = texel * 2u;
    const uvec2 stored = uvec2(source[at], source[at + 1u]);
    const vec4 y = silu(vec4(unpackHalf2x16(stored.x), unpackHalf2x16(stored.y)));
    return mixed(uvec4(stored, 0u, 0u), uvec4(packHalf2x16(y.xy), packHalf2x16(y.zw), 0u, 0u)).xy;
}

void main() {
    for (uint texel = gl_GlobalInvocationID.x; texel < n_texels; texel += n_invocations) {
#if defined(TARGET_IMAGE_F32) || defined(TARGET_IMAGE_F16)
        const uint row = texel / width;
        const ivec3 at = ivec3(texel % width, row % height, row / height);
#if defined(TARGET_IMAGE_F32)
        imageStore(target, at, uintBitsToFloat(texel_f32(texel)));
#else
        const uvec2 words = texel_f16(texel);
        imageStore(target, at, vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y)));
#endif
#else
        if (is_f16 != 0u) {
            const uvec2 words = texel_f16(texel);
            target[texel * 2u] = words.x;
            target[texel * 2u + 1u] = words.y;
        } else {
            const uvec4 words = texel_f32(texel);
            for (uint lane = 0u; lane < 4u; ++lane) target[texel * 4u + lane] = words[lane];
        }
#endif
    }
}
