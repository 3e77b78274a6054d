#version 450
// Fills a workgroup's whole shared memory with a pattern, so that a kernel which trusts what it never wrote
// there meets two different pasts. Dispatch enough workgroups to reach every core.
// Each workgroup g writes result[g] = pattern if the buffer reaches that far: proof that it ran, and a reason
// for the compiler to keep the stores.

layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
// The device's shared memory in words; the default is what every device has.
layout(constant_id = 3) const uint n_shared_words = 4096u;

layout(set = 0, binding = 0, std430) restrict writeonly buffer result_block { uint result[]; };

layout(push_constant, std430) uniform push_block {
    uint pattern;
};

shared uint memory[n_shared_words];

void main() {
    for (uint i = gl_LocalInvocationIndex; i < n_shared_words; i += gl_WorkGroupSize.x) {
        memory[i] = pattern;
    }
    barrier();
    const uint group = gl_WorkGroupID.x;
    if (gl_LocalInvocationIndex == 0u && group < uint(result.length())) {
        // An index that no compiler knows: every word has to be there.
        result[group] = memory[(pattern ^ group) % n_shared_words];
    }
}
