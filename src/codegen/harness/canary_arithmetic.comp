#version 450
// The fixed kernel that tells the mood of the machine's arithmetic: one dependent integer chain an invocation.
// Invocation i computes, modulo 2^32,
//   v = i;  `trip` times: v = v * 1664525 + 1013904223;  result[i] = v   (i < n_words)
// so with (a, b) the composition of `trip` such steps the host expects result[i] = a * i + b, and a and b
// need only `trip` steps once. Integers, so every device must agree.

layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;

layout(set = 0, binding = 0, std430) restrict writeonly buffer result_block { uint result[]; };

layout(push_constant, std430) uniform push_block {
    uint n_words;
    uint trip;
};

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= n_words) return;
    uint v = i;
    for (uint step = 0u; step < trip; ++step) {
        v = v * 1664525u + 1013904223u;
    }
    result[i] = v;
}
