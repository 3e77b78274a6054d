#version 450
// Hashes and classifies an output where it lies, so that only one record of 12 words is read back.
// Owns the meaning of that record; must not know kernels. Needs no optional feature: f16 is widened by integers.
//
// The region is all that was allocated for the output: the output itself and the guards round it, all of it
// filled with `poison` before the run. It is a sequence of texels of 4 lanes (f32: 4 words, f16: 2 words).
//
// hash of logical elements, independent of layout and dtype:
//   idx = ((n * C + c) * H + y) * W + x, bits = the value as IEEE f32
//   lo  = sum of mix(bits ^ mix(idx)),  hi = sum of mix(mix(bits + 0x9e3779b9) + idx), all modulo 2^32
// The canonical hash takes -0 as +0, the raw hash does not.

layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;

layout(set = 0, binding = 0, std430) restrict readonly buffer words_block { uint words[]; };
layout(set = 0, binding = 1, std430) restrict buffer result_block { uint result[]; };

const uint LAYOUT_TEX3D_C4 = 0u;  // an image copied tightly packed: texel (x, y, n * C4 + c4)
const uint LAYOUT_BUF_C4 = 1u;    // texel ((n * H + y) * W + x) * C4 + c4, from first_texel on
const uint DTYPE_F16 = 1u;        // 0 is f32

layout(push_constant, std430) uniform push_block {
    uint layout_kind;
    uint dtype;
    uint n;             // logical size
    uint c;
    uint h;
    uint w;
    uint alloc_w;       // texels of the image copy; buffers leave these three unused
    uint alloc_h;
    uint alloc_d;
    uint n_texels;      // all of the region, guards included
    uint first_texel;   // buffers: the first logical texel, behind the leading guard
    uint result_base;   // first word of the record in result[]
    uint poison;        // for f16 the pattern stands in both halves
    uint n_invocations; // of the whole dispatch: the stride of the loop over texels
};

// Words of the record. The host sets the two FIRST_ words to 0xffffffff and all others to zero.
const uint CANONICAL_LO = 0u;
const uint CANONICAL_HI = 1u;
const uint RAW_LO = 2u;
const uint RAW_HI = 3u;
const uint N_NAN = 4u;            // logical lanes that are NaN, unwritten ones not among them
const uint N_UNWRITTEN = 5u;      // logical lanes that still hold the poison
const uint N_PADDING_BAD = 6u;    // lanes past the last channel that are not zero
const uint N_GUARD_CHANGED = 7u;  // texels outside the output of which a lane is not the poison
const uint FIRST_BAD = 8u;        // smallest idx that is NaN or unwritten
const uint FIRST_GUARD = 9u;      // smallest texel index of a changed guard
const uint N_LOGICAL = 10u;       // logical lanes seen: must be N * C * H * W
const uint N_RECORD = 12u;        // the last word is reserved

shared uint total[N_RECORD];

uint mix_bits(uint v) {
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    v ^= v >> 16;
    return v;
}

// Exact, subnormals included; the payload of a NaN is shifted along.
uint widen_f16(uint half_bits) {
    const uint sign = (half_bits & 0x8000u) << 16;
    const uint exponent = (half_bits >> 10) & 0x1fu;
    const uint fraction = half_bits & 0x3ffu;
    if (exponent == 0x1fu) return sign | 0x7f800000u | (fraction << 13);
    if (exponent != 0u) return sign | ((exponent + 112u) << 23) | (fraction << 13);
    if (fraction == 0u) return sign;
    // fraction * 2^-24, normalised: the leading one leaves the mantissa.
    const uint top = uint(findMSB(fraction));
    return sign | ((top + 103u) << 23) | ((fraction << (23u - top)) & 0x7fffffu);
}

// A lane as it is stored: 32 bits, or 16.
uint stored_lane(uint texel, uint lane) {
    if (dtype != DTYPE_F16) return words[texel * 4u + lane];
    return (words[texel * 2u + lane / 2u] >> (16u * (lane % 2u))) & 0xffffu;
}

void main() {
    const uint local_index = gl_LocalInvocationIndex;
    if (local_index < N_RECORD) {
        total[local_index] = local_index == FIRST_BAD || local_index == FIRST_GUARD ? 0xffffffffu : 0u;
    }
    barrier();

    const uint stored_mask = dtype == DTYPE_F16 ? 0xffffu : 0xffffffffu;
    const uint magnitude_mask = stored_mask >> 1;
    const uint lane_poison = poison & stored_mask;
    const uint n_c4 = (c + 3u) / 4u;

    uint own[N_RECORD];
    for (uint i = 0u; i < N_RECORD; ++i) own[i] = 0u;
    own[FIRST_BAD] = 0xffffffffu;
    own[FIRST_GUARD] = 0xffffffffu;

    for (uint texel = gl_GlobalInvocationID.x; texel < n_texels; texel += n_invocations) {
        uint x, y, image, c4;
        bool logical;
        if (layout_kind == LAYOUT_TEX3D_C4) {
            const uint row = texel / alloc_w;
            const uint z = row / alloc_h;
            x = texel % alloc_w;
            y = row % alloc_h;
            image = z / n_c4;
            c4 = z % n_c4;
            logical = x < w && y < h && image < n;
        } else {
            const uint at = texel - first_texel;
            const uint pixel = at / n_c4;
            const uint row = pixel / w;
            c4 = at % n_c4;
            x = pixel % w;
            y = row % h;
            image = row / h;
            logical = texel >= first_texel && image < n;
        }

        bool changed = false;
        for (uint lane = 0u; lane < 4u; ++lane) {
            const uint stored = stored_lane(texel, lane);
            const uint channel = c4 * 4u + lane;
            if (!logical) {
                changed = changed || stored != lane_poison;
            } else if (channel >= c) {
                if ((stored & magnitude_mask) != 0u) own[N_PADDING_BAD] += 1u;
            } else {
                const uint idx = ((image * c + channel) * h + y) * w + x;
                const uint raw = dtype == DTYPE_F16 ? widen_f16(stored) : stored;
                const uint bits = raw == 0x80000000u ? 0u : raw;
                const bool unwritten = stored == lane_poison;
                const bool is_nan = (raw & 0x7fffffffu) > 0x7f800000u;
                own[CANONICAL_LO] += mix_bits(bits ^ mix_bits(idx));
                own[CANONICAL_HI] += mix_bits(mix_bits(bits + 0x9e3779b9u) + idx);
                own[RAW_LO] += mix_bits(raw ^ mix_bits(idx));
                own[RAW_HI] += mix_bits(mix_bits(raw + 0x9e3779b9u) + idx);
                own[N_LOGICAL] += 1u;
                if (unwritten) own[N_UNWRITTEN] += 1u;
                else if (is_nan) own[N_NAN] += 1u;
                if (unwritten || is_nan) own[FIRST_BAD] = min(own[FIRST_BAD], idx);
            }
        }
        if (changed) {
            own[N_GUARD_CHANGED] += 1u;
            own[FIRST_GUARD] = min(own[FIRST_GUARD], texel);
        }
    }

    // First within the workgroup, so that each workgroup makes one global atomic a word.
    for (uint i = 0u; i < N_RECORD; ++i) {
        if (i == FIRST_BAD || i == FIRST_GUARD) atomicMin(total[i], own[i]);
        else atomicAdd(total[i], own[i]);
    }
    barrier();
    if (local_index < N_RECORD) {
        const uint at = result_base + local_index;
        if (local_index == FIRST_BAD || local_index == FIRST_GUARD) atomicMin(result[at], total[local_index]);
        else atomicAdd(result[at], total[local_index]);
    }
}
