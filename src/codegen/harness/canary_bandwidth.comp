#version 450
// The fixed kernel that tells the mood of the machine's memory: reads a buffer once and writes another once.
//   target[i] = source[i] ^ (i * 0x9e3779b9)   modulo 2^32, for i < min(n_words, trip * invocations of the dispatch)
// Each invocation takes `trip` words, a whole dispatch apart, so that neighbours always touch adjacent words.
// To cover the buffer, dispatch at least ceil(n_words / trip) invocations.

layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;

layout(set = 0, binding = 0, std430) restrict readonly buffer source_block { uint source[]; };
layout(set = 0, binding = 1, std430) restrict writeonly buffer target_block { uint target[]; };

layout(push_constant, std430) uniform push_block {
    uint n_words;
    uint trip;
};

void main() {
    const uint n_invocations = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint step = 0u; step < trip; ++step) {
        const uint i = gl_GlobalInvocationID.x + step * n_invocations;
        if (i < n_words) target[i] = source[i] ^ (i * 0x9e3779b9u);
    }
}
