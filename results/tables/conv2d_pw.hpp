// The dispatch table of kernel conv2d_pw. Written by `tilesmith table` from results;
// do not edit. Evidence and regret are in the JSON beside it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace tilesmith::conv2d_pw {

// The features of a case; what a query leaves out is zero.
struct Case {
  std::int64_t activation = 0;
  std::int64_t batch = 0;
  std::int64_t c_in = 0;
  std::int64_t c_out = 0;
  std::int64_t clamp_max = 0;
  std::int64_t clamp_min = 0;
  std::int64_t groups = 0;
  std::int64_t h_in = 0;
  std::int64_t h_out = 0;
  std::int64_t kernel_h = 0;
  std::int64_t kernel_w = 0;
  std::int64_t padding = 0;
  std::int64_t stride = 0;
  std::int64_t stride_1_pad_0 = 0;
  std::int64_t w_in = 0;
  std::int64_t w_out = 0;
};

// What the caller has decided.
struct Given {
  std::string_view storage{};
  std::string_view act{};
  std::string_view acc{};
};

inline constexpr std::size_t n_given = 3;

constexpr std::array<std::string_view, n_given> given_values([[maybe_unused]] const Given& given) {
  return {{given.storage, given.act, given.acc}};
}

constexpr std::int64_t feature([[maybe_unused]] const Case& c, std::size_t index) {
  switch (index) {
    case 0: return c.activation;
    case 1: return c.batch;
    case 2: return c.c_in;
    case 3: return c.c_out;
    case 4: return c.clamp_max;
    case 5: return c.clamp_min;
    case 6: return c.groups;
    case 7: return c.h_in;
    case 8: return c.h_out;
    case 9: return c.kernel_h;
    case 10: return c.kernel_w;
    case 11: return c.padding;
    case 12: return c.stride;
    case 13: return c.stride_1_pad_0;
    case 14: return c.w_in;
    case 15: return c.w_out;
    default: return 0;
  }
}

// The device that asks.
struct Device {
  // One of the classes in device_rules, where the caller knows it; else it is told from what follows.
  std::optional<std::string_view> device_class{};
  std::uint32_t vendor_id = 0;
  // VkDriverId; 0 when unknown.
  std::uint32_t driver_id = 0;
  std::string_view name{};
  // 0 when unknown.
  std::uint32_t subgroup_size = 0;
  // Names of Vulkan features that are enabled.
  const std::string_view* features = nullptr;
  std::size_t n_features = 0;
  // What Vulkan guarantees at least.
  std::uint32_t max_invocations = 128;
  std::array<std::uint32_t, 3> max_local_size{128, 128, 64};
  std::array<std::uint32_t, 3> max_group_count{65535, 65535, 65535};
};

template <typename T>
struct List {
  const T* first = nullptr;
  std::size_t size = 0;
  constexpr const T* begin() const { return first; }
  constexpr const T* end() const { return first + size; }
};

struct AxisValue {
  std::string_view axis;
  std::string_view value;
};

// ceil(product of features / per).
struct Term {
  List<std::size_t> of;
  std::uint32_t per;
};

// Everything that a dispatch needs.
struct Row {
  std::string_view variant;
  // What the table decided.
  List<AxisValue> axes;
  std::array<std::uint32_t, 3> local;
  bool shrink_to_grid;
  // Invocations on x, y and z, each the product of its terms.
  std::array<List<Term>, 3> grid;
  List<std::string_view> requires_features;
  std::string_view spirv_hash;
};

// What to dispatch: `local` after shrinking, for the specialization constants 0, 1 and 2, and the workgroups.
struct Pick {
  const Row* row;
  std::array<std::uint32_t, 3> local;
  std::array<std::uint32_t, 3> groups;
  // Whether each feature lies within the sizes that the row was verified and timed on; else this is an extrapolation.
  bool is_measured;
};

namespace detail {

struct Condition {
  List<std::size_t> product;
  bool at_least;
  std::uint64_t bound;
};

// The smallest and the largest value of a feature over the cases of a row's evidence.
struct Range {
  std::size_t feature;
  std::int64_t least;
  std::int64_t most;
};

struct Rule {
  List<Condition> when;
  std::size_t row;
  List<std::size_t> spares;
  List<Range> measured;
};

struct Pack {
  List<Condition> when;
  List<AxisValue> values;
  List<Rule> rules;
  std::size_t fallback;
  List<Range> fallback_measured;
};

struct Section {
  std::string_view device_class;
  std::array<std::string_view, n_given> given;
  List<Pack> packs;
};

struct DeviceRule {
  std::string_view device_class;
  std::string_view vendor;
  List<std::uint32_t> vendor_ids;
  List<std::uint32_t> vendor_drivers;
  List<std::uint32_t> drivers;
  List<std::string_view> names;
  std::uint32_t subgroup_size;
};

inline constexpr AxisValue a0[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "buf"}};
inline constexpr std::size_t a1[] = {3};
inline constexpr Term a2[] = {{{a1, 1}, 4u}};
inline constexpr std::size_t a3[] = {15};
inline constexpr Term a4[] = {{{a3, 1}, 1u}};
inline constexpr std::size_t a5[] = {8};
inline constexpr std::size_t a6[] = {1};
inline constexpr Term a7[] = {{{a5, 1}, 1u}, {{a6, 1}, 1u}};
inline constexpr std::string_view a8[] = {"shaderFloat16", "storageBuffer16BitAccess"};
inline constexpr AxisValue a9[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "flat"}, {"tile", "1x1x4"}, {"weights", "buf"}};
inline constexpr std::size_t a10[] = {15, 8};
inline constexpr Term a11[] = {{{a10, 2}, 1u}};
inline constexpr Term a12[] = {{{a6, 1}, 1u}};
inline constexpr AxisValue a13[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "4x1x4"}, {"weights", "buf"}};
inline constexpr Term a14[] = {{{a3, 1}, 4u}};
inline constexpr AxisValue a15[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr Term a16[] = {{{a1, 1}, 8u}};
inline constexpr Term a17[] = {{{a5, 1}, 2u}, {{a6, 1}, 1u}};
inline constexpr AxisValue a18[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "flat"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr Term a19[] = {{{a10, 2}, 8u}};
inline constexpr AxisValue a20[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a21[] = {{"bounds", "guarded"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "1x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a22[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "4x1x4"}, {"weights", "tex2d"}};
inline constexpr std::string_view a23[] = {"storageBuffer16BitAccess"};
inline constexpr AxisValue a24[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "2x1x4"}, {"weights", "buf"}};
inline constexpr Term a25[] = {{{a3, 1}, 2u}};
inline constexpr AxisValue a26[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "flat"}, {"tile", "4x1x4"}, {"weights", "buf"}};
inline constexpr Term a27[] = {{{a10, 2}, 4u}};
inline constexpr AxisValue a28[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a29[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "2x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a30[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a31[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "4x2x8"}, {"weights", "tex2d"}};
inline constexpr AxisValue a32[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "buf"}};
inline constexpr AxisValue a33[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "flat"}, {"tile", "2x1x4"}, {"weights", "buf"}};
inline constexpr Term a34[] = {{{a10, 2}, 2u}};
inline constexpr AxisValue a35[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "2x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a36[] = {{"bounds", "clamped_kcheck"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "4x1x4"}, {"weights", "buf"}};
inline constexpr AxisValue a37[] = {{"bounds", "guarded"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a38[] = {{"bounds", "clamped_kcheck"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "buf"}};
inline constexpr AxisValue a39[] = {{"bounds", "clamped_kcheck"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "2x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a40[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a41[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "buf"}};
inline constexpr AxisValue a42[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "2x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a43[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x1x4"}, {"weights", "buf"}};
inline constexpr AxisValue a44[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "2x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a45[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "2x2x8"}, {"weights", "tex2d"}};
inline constexpr AxisValue a46[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "4x1x4"}, {"weights", "buf"}};
inline constexpr AxisValue a47[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a48[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a49[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "tex2d"}};
inline constexpr AxisValue a50[] = {{"weights", "tex2d"}};
inline constexpr Range a51[] = {{1, 1, 1}, {2, 13, 2048}, {3, 16, 1536}, {6, 1, 1}, {8, 1, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 256}};
inline constexpr Pack a52[] = {{{}, {a50, 1}, {}, 8, {a51, 10}}};
inline constexpr Pack a53[] = {{{}, {a50, 1}, {}, 15, {a51, 10}}};
inline constexpr Pack a54[] = {{{}, {a50, 1}, {}, 27, {a51, 10}}};
inline constexpr Pack a55[] = {{{}, {a50, 1}, {}, 36, {a51, 10}}};
inline constexpr Pack a56[] = {{{}, {a50, 1}, {}, 44, {a51, 10}}};
inline constexpr Pack a57[] = {{{}, {a50, 1}, {}, 55, {a51, 10}}};
inline constexpr Range a58[] = {{1, 1, 1}, {2, 13, 256}, {3, 16, 96}, {6, 1, 1}, {8, 1, 16}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 16}};
inline constexpr Pack a59[] = {{{}, {a50, 1}, {}, 44, {a58, 10}}};
inline constexpr Pack a60[] = {{{}, {a50, 1}, {}, 55, {a58, 10}}};
inline constexpr std::size_t a61[] = {15, 8, 1};
inline constexpr Condition a62[] = {{{a61, 3}, true, 17u}};
inline constexpr Range a63[] = {{1, 1, 1}, {2, 48, 48}, {3, 96, 96}, {6, 1, 1}, {8, 16, 16}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 16, 16}};
inline constexpr Condition a64[] = {{{a61, 3}, false, 17u}};
inline constexpr Range a65[] = {{1, 1, 1}, {2, 256, 256}, {3, 16, 16}, {6, 1, 1}, {8, 1, 1}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 1}};
inline constexpr std::size_t a66[] = {2};
inline constexpr Condition a67[] = {{{a66, 1}, true, 25u}};
inline constexpr AxisValue a68[] = {{"weights", "buf"}};
inline constexpr Rule a69[] = {{{a62, 1}, 6, {}, {a63, 10}}, {{a64, 1}, 0, {}, {a65, 10}}};
inline constexpr Range a70[] = {{1, 1, 1}, {2, 48, 256}, {3, 16, 96}, {6, 1, 1}, {8, 1, 16}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 16}};
inline constexpr Range a71[] = {{1, 1, 1}, {2, 13, 13}, {3, 27, 27}, {6, 1, 1}, {8, 8, 8}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 8, 8}};
inline constexpr Condition a72[] = {{{a66, 1}, false, 25u}};
inline constexpr Rule a73[] = {{{}, 9, {}, {a71, 10}}};
inline constexpr Pack a74[] = {{{a67, 1}, {a68, 1}, {a69, 2}, 0, {a70, 10}}, {{a72, 1}, {a50, 1}, {a73, 1}, 8, {a71, 10}}};
inline constexpr Range a75[] = {{1, 1, 1}, {2, 13, 48}, {3, 27, 96}, {6, 1, 1}, {8, 8, 16}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 8, 16}};
inline constexpr Condition a76[] = {{{a1, 1}, true, 21u}};
inline constexpr Rule a77[] = {{{}, 18, {}, {a75, 10}}};
inline constexpr Condition a78[] = {{{a1, 1}, false, 21u}};
inline constexpr Rule a79[] = {{{}, 10, {}, {a65, 10}}};
inline constexpr Pack a80[] = {{{a76, 1}, {a50, 1}, {a77, 1}, 15, {a75, 10}}, {{a78, 1}, {a68, 1}, {a79, 1}, 10, {a65, 10}}};
inline constexpr Condition a81[] = {{{a61, 3}, true, 129u}};
inline constexpr Condition a82[] = {{{a61, 3}, true, 9u}, {{a61, 3}, false, 129u}};
inline constexpr Condition a83[] = {{{a61, 3}, false, 9u}};
inline constexpr Rule a84[] = {{{a81, 1}, 26, {}, {a63, 10}}, {{a82, 2}, 25, {}, {a71, 10}}, {{a83, 1}, 22, {}, {a65, 10}}};
inline constexpr Pack a85[] = {{{}, {a68, 1}, {a84, 3}, 25, {a58, 10}}};
inline constexpr Rule a86[] = {{{}, 35, {}, {a75, 10}}};
inline constexpr Rule a87[] = {{{}, 36, {}, {a65, 10}}};
inline constexpr Pack a88[] = {{{a76, 1}, {a68, 1}, {a86, 1}, 35, {a75, 10}}, {{a78, 1}, {a50, 1}, {a87, 1}, 36, {a65, 10}}};
inline constexpr Rule a89[] = {{{a62, 1}, 46, {}, {a63, 10}}, {{a64, 1}, 43, {}, {a65, 10}}};
inline constexpr Rule a90[] = {{{}, 40, {}, {a71, 10}}};
inline constexpr Pack a91[] = {{{a67, 1}, {a50, 1}, {a89, 2}, 44, {a70, 10}}, {{a72, 1}, {a68, 1}, {a90, 1}, 40, {a71, 10}}};
inline constexpr Condition a92[] = {{{a61, 3}, true, 9u}};
inline constexpr Rule a93[] = {{{a92, 1}, 57, {}, {a75, 10}}, {{a83, 1}, 53, {}, {a65, 10}}};
inline constexpr Pack a94[] = {{{}, {a50, 1}, {a93, 2}, 55, {a58, 10}}};
inline constexpr Pack a95[] = {{{}, {a50, 1}, {}, 8, {a58, 10}}};
inline constexpr Pack a96[] = {{{}, {a50, 1}, {}, 15, {a58, 10}}};
inline constexpr Pack a97[] = {{{}, {a50, 1}, {}, 27, {a58, 10}}};
inline constexpr Pack a98[] = {{{}, {a50, 1}, {}, 36, {a58, 10}}};
inline constexpr Condition a99[] = {{{a61, 3}, true, 449u}};
inline constexpr Range a100[] = {{1, 1, 1}, {2, 768, 768}, {3, 384, 384}, {6, 1, 1}, {8, 32, 32}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 32, 32}};
inline constexpr Condition a101[] = {{{a61, 3}, true, 99u}, {{a61, 3}, false, 449u}};
inline constexpr Range a102[] = {{1, 1, 1}, {2, 1024, 1024}, {3, 512, 512}, {6, 1, 1}, {8, 14, 14}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 14, 14}};
inline constexpr Condition a103[] = {{{a61, 3}, false, 99u}};
inline constexpr Range a104[] = {{1, 1, 1}, {2, 2048, 2048}, {3, 512, 512}, {6, 1, 1}, {8, 7, 7}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 7, 7}};
inline constexpr Condition a105[] = {{{a66, 1}, true, 472u}, {{a1, 1}, true, 314u}};
inline constexpr Rule a106[] = {{{a99, 1}, 3, {}, {a100, 10}}, {{a101, 2}, 1, {}, {a102, 10}}, {{a103, 1}, 2, {}, {a104, 10}}};
inline constexpr Range a107[] = {{1, 1, 1}, {2, 768, 2048}, {3, 384, 512}, {6, 1, 1}, {8, 7, 32}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 7, 32}};
inline constexpr Range a108[] = {{1, 1, 1}, {2, 480, 1536}, {3, 32, 256}, {6, 1, 1}, {8, 1, 24}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 24}};
inline constexpr Condition a109[] = {{{a66, 1}, true, 472u}, {{a1, 1}, false, 314u}};
inline constexpr Rule a110[] = {{{}, 7, {}, {a108, 10}}};
inline constexpr std::size_t a111[] = {3, 15, 8, 1};
inline constexpr Condition a112[] = {{{a1, 1}, true, 56u}, {{a111, 4}, true, 344065u}, {{a61, 3}, true, 897u}};
inline constexpr Range a113[] = {{1, 1, 1}, {2, 48, 384}, {3, 64, 768}, {6, 1, 1}, {8, 32, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 32, 256}};
inline constexpr Condition a114[] = {{{a1, 1}, true, 56u}, {{a111, 4}, true, 344065u}, {{a61, 3}, false, 897u}};
inline constexpr Range a115[] = {{1, 1, 1}, {2, 128, 128}, {3, 512, 512}, {6, 1, 1}, {8, 28, 28}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 28, 28}};
inline constexpr Condition a116[] = {{{a1, 1}, false, 56u}, {{a111, 4}, true, 344065u}};
inline constexpr Range a117[] = {{1, 1, 1}, {2, 96, 256}, {3, 32, 48}, {6, 1, 1}, {8, 256, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 256, 256}};
inline constexpr Condition a118[] = {{{a111, 4}, false, 344065u}};
inline constexpr Range a119[] = {{1, 1, 1}, {2, 13, 464}, {3, 16, 1536}, {6, 1, 1}, {8, 1, 112}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 112}};
inline constexpr Condition a120[] = {{{a66, 1}, false, 472u}};
inline constexpr Rule a121[] = {{{a112, 3}, 4, {}, {a113, 10}}, {{a114, 3}, 3, {}, {a115, 10}}, {{a116, 2}, 5, {}, {a117, 10}}, {{a118, 1}, 2, {}, {a119, 10}}};
inline constexpr Range a122[] = {{1, 1, 1}, {2, 13, 464}, {3, 16, 1536}, {6, 1, 1}, {8, 1, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 256}};
inline constexpr Pack a123[] = {{{a105, 2}, {a68, 1}, {a106, 3}, 2, {a107, 10}}, {{a109, 2}, {a50, 1}, {a110, 1}, 8, {a108, 10}}, {{a120, 1}, {a68, 1}, {a121, 4}, 1, {a122, 10}}};
inline constexpr Condition a124[] = {{{a111, 4}, true, 255402u}};
inline constexpr Range a125[] = {{1, 1, 1}, {2, 128, 768}, {3, 64, 768}, {6, 1, 1}, {8, 24, 128}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 24, 128}};
inline constexpr Condition a126[] = {{{a1, 1}, true, 496u}, {{a111, 4}, false, 255402u}};
inline constexpr Range a127[] = {{1, 1, 1}, {2, 160, 2048}, {3, 512, 1536}, {6, 1, 1}, {8, 7, 14}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 7, 14}};
inline constexpr Condition a128[] = {{{a1, 1}, false, 496u}, {{a111, 4}, false, 255402u}};
inline constexpr Range a129[] = {{1, 1, 1}, {2, 120, 1536}, {3, 32, 480}, {6, 1, 1}, {8, 1, 24}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 24}};
inline constexpr std::size_t a130[] = {2, 3};
inline constexpr Condition a131[] = {{{a66, 1}, true, 108u}, {{a130, 2}, true, 10034u}};
inline constexpr Rule a132[] = {{{a124, 1}, 17, {}, {a125, 10}}, {{a126, 2}, 16, {}, {a127, 10}}, {{a128, 2}, 14, {}, {a129, 10}}};
inline constexpr Range a133[] = {{1, 1, 1}, {2, 120, 2048}, {3, 32, 1536}, {6, 1, 1}, {8, 1, 128}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 128}};
inline constexpr Condition a134[] = {{{a61, 3}, true, 14337u}};
inline constexpr Range a135[] = {{1, 1, 1}, {2, 256, 256}, {3, 32, 32}, {6, 1, 1}, {8, 256, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 256, 256}};
inline constexpr Condition a136[] = {{{a61, 3}, false, 14337u}};
inline constexpr Range a137[] = {{1, 1, 1}, {2, 144, 256}, {3, 16, 24}, {6, 1, 1}, {8, 1, 56}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 56}};
inline constexpr Condition a138[] = {{{a66, 1}, true, 108u}, {{a130, 2}, false, 10034u}};
inline constexpr Rule a139[] = {{{a134, 1}, 13, {}, {a135, 10}}, {{a136, 1}, 11, {}, {a137, 10}}};
inline constexpr Range a140[] = {{1, 1, 1}, {2, 144, 256}, {3, 16, 32}, {6, 1, 1}, {8, 1, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 256}};
inline constexpr Condition a141[] = {{{a130, 2}, true, 21284u}, {{a111, 4}, true, 184998u}};
inline constexpr Range a142[] = {{1, 1, 1}, {2, 96, 96}, {3, 256, 256}, {6, 1, 1}, {8, 128, 128}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 128, 128}};
inline constexpr Condition a143[] = {{{a130, 2}, true, 10862u}, {{a130, 2}, false, 21284u}, {{a111, 4}, true, 184998u}};
inline constexpr Range a144[] = {{1, 1, 1}, {2, 48, 96}, {3, 192, 256}, {6, 1, 1}, {8, 128, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 128, 256}};
inline constexpr Condition a145[] = {{{a66, 1}, true, 79u}, {{a130, 2}, false, 10862u}, {{a111, 4}, true, 184998u}};
inline constexpr Range a146[] = {{1, 1, 1}, {2, 96, 96}, {3, 48, 48}, {6, 1, 1}, {8, 256, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 256, 256}};
inline constexpr Condition a147[] = {{{a66, 1}, false, 79u}, {{a130, 2}, false, 10862u}, {{a111, 4}, true, 184998u}};
inline constexpr Range a148[] = {{1, 1, 1}, {2, 16, 64}, {3, 16, 240}, {6, 1, 1}, {8, 28, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 28, 256}};
inline constexpr Condition a149[] = {{{a111, 4}, false, 184998u}};
inline constexpr Range a150[] = {{1, 1, 1}, {2, 13, 96}, {3, 16, 768}, {6, 1, 1}, {8, 1, 56}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 56}};
inline constexpr Condition a151[] = {{{a66, 1}, false, 108u}};
inline constexpr Rule a152[] = {{{a141, 2}, 12, {}, {a142, 10}}, {{a143, 3}, 13, {}, {a144, 10}}, {{a145, 3}, 11, {}, {a146, 10}}, {{a147, 3}, 12, {}, {a148, 10}}, {{a149, 1}, 11, {}, {a150, 10}}};
inline constexpr Range a153[] = {{1, 1, 1}, {2, 13, 96}, {3, 16, 768}, {6, 1, 1}, {8, 1, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 256}};
inline constexpr Pack a154[] = {{{a131, 2}, {a50, 1}, {a132, 3}, 15, {a133, 10}}, {{a138, 2}, {a68, 1}, {a139, 2}, 11, {a140, 10}}, {{a151, 1}, {a68, 1}, {a152, 5}, 12, {a153, 10}}};
inline constexpr Condition a155[] = {{{a1, 1}, true, 79u}, {{a111, 4}, true, 255402u}};
inline constexpr Range a156[] = {{1, 1, 1}, {2, 48, 768}, {3, 96, 768}, {6, 1, 1}, {8, 24, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 24, 256}};
inline constexpr Condition a157[] = {{{a1, 1}, false, 79u}, {{a111, 4}, true, 255402u}};
inline constexpr Range a158[] = {{1, 1, 1}, {2, 96, 256}, {3, 32, 64}, {6, 1, 1}, {8, 128, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 128, 256}};
inline constexpr Condition a159[] = {{{a111, 4}, true, 122906u}, {{a111, 4}, false, 255402u}};
inline constexpr Range a160[] = {{1, 1, 1}, {2, 16, 256}, {3, 16, 1536}, {6, 1, 1}, {8, 12, 112}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 12, 112}};
inline constexpr Condition a161[] = {{{a1, 1}, true, 628u}, {{a111, 4}, false, 122906u}};
inline constexpr Range a162[] = {{1, 1, 1}, {2, 32, 464}, {3, 768, 1280}, {6, 1, 1}, {8, 1, 7}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 7}};
inline constexpr Condition a163[] = {{{a1, 1}, false, 628u}, {{a111, 4}, false, 122906u}, {{a61, 3}, true, 1569u}};
inline constexpr Range a164[] = {{1, 1, 1}, {2, 96, 144}, {3, 24, 24}, {6, 1, 1}, {8, 56, 56}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 56, 56}};
inline constexpr Condition a165[] = {{{a1, 1}, false, 628u}, {{a111, 4}, false, 122906u}, {{a61, 3}, false, 1569u}};
inline constexpr Range a166[] = {{1, 1, 1}, {2, 13, 2048}, {3, 16, 512}, {6, 1, 1}, {8, 1, 28}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 28}};
inline constexpr Rule a167[] = {{{a155, 2}, 23, {}, {a156, 10}}, {{a157, 2}, 24, {}, {a158, 10}}, {{a159, 2}, 19, {}, {a160, 10}}, {{a161, 2}, 19, {}, {a162, 10}}, {{a163, 3}, 20, {}, {a164, 10}}, {{a165, 3}, 21, {}, {a166, 10}}};
inline constexpr Pack a168[] = {{{}, {a68, 1}, {a167, 6}, 19, {a51, 10}}};
inline constexpr Condition a169[] = {{{a111, 4}, true, 1816187u}};
inline constexpr Range a170[] = {{1, 1, 1}, {2, 48, 256}, {3, 32, 256}, {6, 1, 1}, {8, 128, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 128, 256}};
inline constexpr Condition a171[] = {{{a111, 4}, true, 561855u}, {{a111, 4}, false, 1816187u}};
inline constexpr std::size_t a172[] = {33};
inline constexpr Range a173[] = {{1, 1, 1}, {2, 192, 384}, {3, 64, 768}, {6, 1, 1}, {8, 32, 128}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 32, 128}};
inline constexpr Condition a174[] = {{{a111, 4}, true, 122906u}, {{a111, 4}, false, 561855u}, {{a61, 3}, true, 289u}};
inline constexpr Range a175[] = {{1, 1, 1}, {2, 16, 768}, {3, 16, 512}, {6, 1, 1}, {8, 24, 112}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 24, 112}};
inline constexpr Condition a176[] = {{{a111, 4}, true, 122906u}, {{a111, 4}, false, 561855u}, {{a61, 3}, false, 289u}};
inline constexpr Range a177[] = {{1, 1, 1}, {2, 256, 256}, {3, 1280, 1536}, {6, 1, 1}, {8, 12, 12}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 12, 12}};
inline constexpr Condition a178[] = {{{a1, 1}, true, 430u}, {{a111, 4}, false, 122906u}, {{a61, 3}, true, 99u}};
inline constexpr Condition a179[] = {{{a1, 1}, true, 430u}, {{a111, 4}, false, 122906u}, {{a61, 3}, false, 99u}};
inline constexpr Range a180[] = {{1, 1, 1}, {2, 32, 2048}, {3, 480, 1280}, {6, 1, 1}, {8, 1, 7}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 7}};
inline constexpr Condition a181[] = {{{a1, 1}, false, 430u}, {{a111, 4}, false, 122906u}, {{a61, 3}, true, 1569u}};
inline constexpr Condition a182[] = {{{a1, 1}, false, 430u}, {{a111, 4}, false, 122906u}, {{a61, 3}, false, 1569u}};
inline constexpr Range a183[] = {{1, 1, 1}, {2, 13, 1536}, {3, 16, 384}, {6, 1, 1}, {8, 1, 28}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 28}};
inline constexpr Rule a184[] = {{{a169, 1}, 32, {}, {a170, 10}}, {{a171, 2}, 34, {a172, 1}, {a173, 10}}, {{a174, 3}, 29, {}, {a175, 10}}, {{a176, 3}, 31, {}, {a177, 10}}, {{a178, 3}, 31, {}, {a102, 10}}, {{a179, 3}, 29, {}, {a180, 10}}, {{a181, 3}, 30, {}, {a164, 10}}, {{a182, 3}, 28, {}, {a183, 10}}};
inline constexpr Pack a185[] = {{{}, {a68, 1}, {a184, 8}, 29, {a51, 10}}};
inline constexpr Condition a186[] = {{{a111, 4}, true, 255402u}, {{a61, 3}, true, 2049u}};
inline constexpr Range a187[] = {{1, 1, 1}, {2, 48, 384}, {3, 32, 384}, {6, 1, 1}, {8, 64, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 64, 256}};
inline constexpr Condition a188[] = {{{a111, 4}, true, 255402u}, {{a61, 3}, false, 2049u}};
inline constexpr Range a189[] = {{1, 1, 1}, {2, 128, 768}, {3, 384, 768}, {6, 1, 1}, {8, 24, 32}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 24, 32}};
inline constexpr Condition a190[] = {{{a66, 1}, true, 51u}, {{a111, 4}, true, 165467u}, {{a111, 4}, false, 255402u}};
inline constexpr Range a191[] = {{1, 1, 1}, {2, 64, 256}, {3, 64, 1536}, {6, 1, 1}, {8, 12, 56}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 12, 56}};
inline constexpr Condition a192[] = {{{a66, 1}, false, 51u}, {{a111, 4}, true, 165467u}, {{a111, 4}, false, 255402u}};
inline constexpr Range a193[] = {{1, 1, 1}, {2, 24, 40}, {3, 58, 240}, {6, 1, 1}, {8, 28, 56}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 28, 56}};
inline constexpr Condition a194[] = {{{a1, 1}, true, 628u}, {{a111, 4}, false, 165467u}};
inline constexpr Condition a195[] = {{{a1, 1}, true, 30u}, {{a1, 1}, false, 628u}, {{a111, 4}, false, 165467u}};
inline constexpr Range a196[] = {{1, 1, 1}, {2, 16, 2048}, {3, 32, 512}, {6, 1, 1}, {8, 1, 28}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 28}};
inline constexpr Condition a197[] = {{{a1, 1}, false, 30u}, {{a111, 4}, false, 165467u}};
inline constexpr Condition a198[] = {{{a1, 1}, true, 26u}};
inline constexpr Rule a199[] = {{{a186, 2}, 41, {}, {a187, 10}}, {{a188, 2}, 42, {}, {a189, 10}}, {{a190, 3}, 39, {}, {a191, 10}}, {{a192, 3}, 38, {}, {a193, 10}}, {{a194, 2}, 38, {}, {a162, 10}}, {{a195, 3}, 37, {}, {a196, 10}}, {{a197, 2}, 38, {}, {a71, 10}}};
inline constexpr Range a200[] = {{1, 1, 1}, {2, 13, 2048}, {3, 27, 1536}, {6, 1, 1}, {8, 1, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 256}};
inline constexpr Range a201[] = {{1, 1, 1}, {2, 16, 256}, {3, 16, 24}, {6, 1, 1}, {8, 1, 112}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 112}};
inline constexpr Condition a202[] = {{{a1, 1}, false, 26u}};
inline constexpr Rule a203[] = {{{}, 45, {}, {a201, 10}}};
inline constexpr Pack a204[] = {{{a198, 1}, {a68, 1}, {a199, 7}, 39, {a200, 10}}, {{a202, 1}, {a50, 1}, {a203, 1}, 44, {a201, 10}}};
inline constexpr Condition a205[] = {{{a111, 4}, true, 1284239u}};
inline constexpr Range a206[] = {{1, 1, 1}, {2, 48, 256}, {3, 32, 384}, {6, 1, 1}, {8, 64, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 64, 256}};
inline constexpr Condition a207[] = {{{a111, 4}, true, 561855u}, {{a111, 4}, false, 1284239u}};
inline constexpr Range a208[] = {{1, 1, 1}, {2, 256, 384}, {3, 64, 768}, {6, 1, 1}, {8, 32, 128}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 32, 128}};
inline constexpr Condition a209[] = {{{a111, 4}, true, 194331u}, {{a111, 4}, false, 561855u}, {{a61, 3}, true, 1793u}};
inline constexpr Range a210[] = {{1, 1, 1}, {2, 64, 64}, {3, 64, 64}, {6, 1, 1}, {8, 56, 56}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 56, 56}};
inline constexpr Condition a211[] = {{{a111, 4}, true, 194331u}, {{a111, 4}, false, 561855u}, {{a61, 3}, false, 1793u}};
inline constexpr Range a212[] = {{1, 1, 1}, {2, 128, 768}, {3, 384, 1536}, {6, 1, 1}, {8, 12, 32}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 12, 32}};
inline constexpr Condition a213[] = {{{a1, 1}, true, 628u}, {{a111, 4}, false, 194331u}, {{a61, 3}, true, 85u}};
inline constexpr Range a214[] = {{1, 1, 1}, {2, 256, 256}, {3, 1280, 1280}, {6, 1, 1}, {8, 12, 12}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 12, 12}};
inline constexpr Condition a215[] = {{{a1, 1}, true, 628u}, {{a111, 4}, false, 194331u}, {{a61, 3}, false, 85u}};
inline constexpr Condition a216[] = {{{a1, 1}, false, 628u}, {{a111, 4}, false, 194331u}, {{a61, 3}, true, 1569u}};
inline constexpr Range a217[] = {{1, 1, 1}, {2, 144, 144}, {3, 24, 24}, {6, 1, 1}, {8, 56, 56}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 56, 56}};
inline constexpr Condition a218[] = {{{a1, 1}, false, 628u}, {{a111, 4}, false, 194331u}, {{a61, 3}, false, 1569u}};
inline constexpr Range a219[] = {{1, 1, 1}, {2, 32, 2048}, {3, 16, 512}, {6, 1, 1}, {8, 1, 28}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 28}};
inline constexpr Condition a220[] = {{{a130, 2}, true, 2576u}};
inline constexpr Rule a221[] = {{{a205, 1}, 52, {}, {a206, 10}}, {{a207, 2}, 51, {}, {a208, 10}}, {{a209, 3}, 50, {}, {a210, 10}}, {{a211, 3}, 49, {}, {a212, 10}}, {{a213, 3}, 49, {}, {a214, 10}}, {{a215, 3}, 48, {}, {a162, 10}}, {{a216, 3}, 48, {}, {a217, 10}}, {{a218, 3}, 47, {}, {a219, 10}}};
inline constexpr Range a222[] = {{1, 1, 1}, {2, 32, 2048}, {3, 16, 1536}, {6, 1, 1}, {8, 1, 256}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 256}};
inline constexpr Range a223[] = {{1, 1, 1}, {2, 13, 96}, {3, 16, 58}, {6, 1, 1}, {8, 1, 112}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 1, 112}};
inline constexpr Condition a224[] = {{{a130, 2}, false, 2576u}};
inline constexpr Rule a225[] = {{{}, 54, {}, {a223, 10}}};
inline constexpr Pack a226[] = {{{a220, 1}, {a68, 1}, {a221, 8}, 50, {a222, 10}}, {{a224, 1}, {a50, 1}, {a225, 1}, 55, {a223, 10}}};
inline constexpr std::size_t a227[] = {43};
inline constexpr Rule a228[] = {{{a92, 1}, 46, {a227, 1}, {a75, 10}}, {{a83, 1}, 43, {}, {a65, 10}}};
inline constexpr Pack a229[] = {{{}, {a50, 1}, {a228, 2}, 44, {a58, 10}}};
inline constexpr Rule a230[] = {{{a92, 1}, 56, {}, {a75, 10}}, {{a83, 1}, 53, {}, {a65, 10}}};
inline constexpr Pack a231[] = {{{}, {a50, 1}, {a230, 2}, 55, {a58, 10}}};
inline constexpr std::uint32_t a232[] = {4203};
inline constexpr std::uint32_t a233[] = {26};
inline constexpr std::string_view a234[] = {"m1"};
inline constexpr std::string_view a235[] = {"m2"};
inline constexpr std::string_view a236[] = {"m3"};
inline constexpr std::string_view a237[] = {"m4"};
inline constexpr std::string_view a238[] = {"m5"};
inline constexpr std::string_view a239[] = {"a1#", "a2#"};
inline constexpr std::uint32_t a240[] = {65541};
inline constexpr std::uint32_t a241[] = {13};
inline constexpr std::uint32_t a242[] = {6880};
inline constexpr std::uint32_t a243[] = {10};
inline constexpr std::uint32_t a244[] = {20803};
inline constexpr std::string_view a245[] = {"adreno (tm) 702", "adreno(tm) 702"};
inline constexpr std::string_view a246[] = {"adreno (tm) 5##", "adreno(tm) 5##"};
inline constexpr std::string_view a247[] = {"adreno (tm) 6##", "adreno(tm) 6##"};
inline constexpr std::string_view a248[] = {"adreno (tm) 7##", "adreno(tm) 7##"};
inline constexpr std::string_view a249[] = {"adreno (tm) 8##", "adreno(tm) 8##"};
inline constexpr std::string_view a250[] = {"adreno(tm) x1", "adreno (tm) x1", "x1-##"};
inline constexpr std::string_view a251[] = {"adreno(tm) x2", "adreno (tm) x2", "x2-##"};
inline constexpr std::uint32_t a252[] = {5045};
inline constexpr std::string_view a253[] = {"mali-t###"};
inline constexpr std::string_view a254[] = {"g71", "g72", "g76", "g31", "g51", "g52"};
inline constexpr std::string_view a255[] = {"g57", "g68", "g77", "g78", "g310", "g510", "g610", "g710", "g615", "g715"};
inline constexpr std::string_view a256[] = {"g620", "g720", "g625", "g725", "g925", "mali-g1"};
inline constexpr std::uint32_t a257[] = {4112};
inline constexpr std::string_view a258[] = {"rogue"};
inline constexpr std::string_view a259[] = {"a-series", "axe", "axm", "axt"};
inline constexpr std::string_view a260[] = {"b-series", "bxe", "bxm", "bxs", "bxt"};
inline constexpr std::string_view a261[] = {"c-series", "cxt", "cxm"};
inline constexpr std::string_view a262[] = {"d-series", "dxt", "dxd"};
inline constexpr std::uint32_t a263[] = {4318};
inline constexpr std::string_view a264[] = {"b100", "b200", "b300", "gb200", "gb300"};
inline constexpr std::string_view a265[] = {"rtx 50##", "blackwell", "gb10"};
inline constexpr std::string_view a266[] = {"h100", "h200", "h800", "h20", "gh200"};
inline constexpr std::string_view a267[] = {"orin"};
inline constexpr std::string_view a268[] = {"rtx 40##", "ada generation", "ada", "l4", "l40", "l20", "l2"};
inline constexpr std::string_view a269[] = {"a100", "a800", "a30"};
inline constexpr std::string_view a270[] = {"rtx 30##", "rtx a####", "rtx a###", "rtx 2050", "a10", "a10g", "a16", "a40", "a2"};
inline constexpr std::string_view a271[] = {"rtx 20##", "gtx 16##", "mx4##", "mx5##", "t4", "t4g", "t4##", "t6##", "t1000", "t2000", "quadro rtx", "titan rtx"};
inline constexpr std::string_view a272[] = {"v100", "gv100", "titan v", "xavier"};
inline constexpr std::string_view a273[] = {"gtx 10##", "gt 10##", "mx1##", "mx2##", "mx3##", "p100", "p40", "p4", "quadro p####", "titan x", "titan xp"};
inline constexpr std::string_view a274[] = {"gtx 9##", "gtx 7##", "quadro m####", "m40", "m60"};
inline constexpr std::uint32_t a275[] = {4098};
inline constexpr std::string_view a276[] = {"mi3##", "mi3##a", "mi3##x", "gfx94#"};
inline constexpr std::string_view a277[] = {"mi2##", "gfx90a"};
inline constexpr std::string_view a278[] = {"mi100", "arcturus", "gfx908"};
inline constexpr std::string_view a279[] = {"rx 9###", "navi4#", "gfx120#", "r9###"};
inline constexpr std::string_view a280[] = {"gfx115#", "8##m", "8###s", "strix"};
inline constexpr std::string_view a281[] = {"rx 7###", "navi3#", "gfx110#", "phoenix", "7##m", "w7###"};
inline constexpr std::string_view a282[] = {"rx 6###", "navi2#", "gfx103#", "rembrandt", "vangogh", "raphael", "6##m", "w6###"};
inline constexpr std::string_view a283[] = {"rx 5###", "navi1#", "gfx101#", "w5###"};
inline constexpr std::string_view a284[] = {"vega", "vega##", "polaris##", "renoir", "raven", "raven2", "rx 4##", "rx 5##"};
inline constexpr std::uint32_t a285[] = {3};
inline constexpr std::uint32_t a286[] = {5197};
inline constexpr std::string_view a287[] = {"xclipse 9##"};
inline constexpr std::string_view a288[] = {"xclipse 5##"};
inline constexpr std::uint32_t a289[] = {32902};
inline constexpr std::string_view a290[] = {"arc(tm) b###", "arc b###", "bmg", "lnl", "lunar lake", "arc(tm) 1##v"};
inline constexpr std::string_view a291[] = {"arc(tm) a###", "arc a###", "dg2"};
inline constexpr std::string_view a292[] = {"mtl", "arl", "arc(tm) graphics", "meteor lake"};
inline constexpr std::string_view a293[] = {"tgl", "iris(r) xe", "dg1", "adl", "rpl", "uhd graphics 7##"};
inline constexpr std::string_view a294[] = {"icl", "jsl", "ehl"};
inline constexpr std::string_view a295[] = {"skl", "kbl", "cfl", "cml", "glk", "apl", "bxt", "hd graphics 5##", "hd graphics 6##", "iris plus"};
inline constexpr std::uint32_t a296[] = {5348};
inline constexpr std::string_view a297[] = {"v3d 4"};
inline constexpr std::string_view a298[] = {"v3d 7"};

inline constexpr Row all_rows[] = {
    {"conv2d_pw_f16_buf_f16_buf_1x1x4_block_8_clamped", {a0, 5}, {16u, 4u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a8, 2}, "5f5d1b6ea61145da"},
    {"conv2d_pw_f16_buf_f16_buf_1x1x4_block_8_clamped", {a0, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a8, 2}, "5f5d1b6ea61145da"},
    {"conv2d_pw_f16_buf_f16_buf_1x1x4_flat_8_clamped", {a9, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {a8, 2}, "1860158efd29524f"},
    {"conv2d_pw_f16_buf_f16_buf_4x1x4_block_8_clamped", {a13, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a14, 1}, List<Term>{a7, 2}}}, {a8, 2}, "751869196d4e51d8"},
    {"conv2d_pw_f16_buf_f16_buf_4x1x4_block_8_clamped", {a13, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a14, 1}, List<Term>{a7, 2}}}, {a8, 2}, "751869196d4e51d8"},
    {"conv2d_pw_f16_buf_f16_buf_4x2x8_block_8_clamped", {a15, 5}, {8u, 8u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a14, 1}, List<Term>{a17, 2}}}, {a8, 2}, "76c1e9fa94b9da43"},
    {"conv2d_pw_f16_buf_f16_buf_4x2x8_flat_8_clamped_kcheck", {a18, 5}, {16u, 8u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a19, 1}, List<Term>{a12, 1}}}, {a8, 2}, "86995fadc64e34c8"},
    {"conv2d_pw_f16_buf_f16_tex2d_1x1x4_block_4_clamped", {a20, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a8, 2}, "7df9739f2f093e60"},
    {"conv2d_pw_f16_buf_f16_tex2d_1x1x4_flat_4_guarded", {a21, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {a8, 2}, "5ee22028482fbc00"},
    {"conv2d_pw_f16_buf_f16_tex2d_4x1x4_block_8_clamped_kcheck", {a22, 5}, {32u, 4u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a14, 1}, List<Term>{a7, 2}}}, {a8, 2}, "41568f1bc63cc0a0"},
    {"conv2d_pw_f16_buf_f32_buf_1x1x4_block_8_clamped", {a0, 5}, {64u, 1u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a23, 1}, "aa6c8ebb1a955d4b"},
    {"conv2d_pw_f16_buf_f32_buf_2x1x4_block_8_clamped", {a24, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a25, 1}, List<Term>{a7, 2}}}, {a23, 1}, "22b77d2bb437ce7b"},
    {"conv2d_pw_f16_buf_f32_buf_4x1x4_flat_8_clamped", {a26, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a27, 1}, List<Term>{a12, 1}}}, {a23, 1}, "962b47eb70c6f3e0"},
    {"conv2d_pw_f16_buf_f32_buf_4x2x8_block_8_clamped", {a15, 5}, {8u, 8u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a14, 1}, List<Term>{a17, 2}}}, {a23, 1}, "c7df959c35f942dc"},
    {"conv2d_pw_f16_buf_f32_tex2d_1x1x4_block_8_clamped_kcheck", {a28, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a23, 1}, "fea64ab60991a448"},
    {"conv2d_pw_f16_buf_f32_tex2d_1x1x4_flat_4_guarded", {a21, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {a23, 1}, "e3235f4d95fa9e80"},
    {"conv2d_pw_f16_buf_f32_tex2d_2x1x4_block_8_clamped", {a29, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a25, 1}, List<Term>{a7, 2}}}, {a23, 1}, "aaf7daa12bdab157"},
    {"conv2d_pw_f16_buf_f32_tex2d_4x1x4_block_4_clamped", {a30, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a14, 1}, List<Term>{a7, 2}}}, {a23, 1}, "75f8e912659caccc"},
    {"conv2d_pw_f16_buf_f32_tex2d_4x2x8_flat_4_clamped", {a31, 5}, {32u, 4u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a19, 1}, List<Term>{a12, 1}}}, {a23, 1}, "881880bd94171295"},
    {"conv2d_pw_f16_tex3d_f16_buf_1x1x4_block_4_clamped", {a32, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a8, 2}, "3981d5fa5954de3b"},
    {"conv2d_pw_f16_tex3d_f16_buf_1x1x4_block_8_clamped", {a0, 5}, {16u, 4u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a8, 2}, "b4f6382b99d30b87"},
    {"conv2d_pw_f16_tex3d_f16_buf_1x1x4_block_8_clamped", {a0, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a8, 2}, "b4f6382b99d30b87"},
    {"conv2d_pw_f16_tex3d_f16_buf_1x1x4_flat_8_clamped", {a9, 5}, {16u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {a8, 2}, "a4069f38ead50508"},
    {"conv2d_pw_f16_tex3d_f16_buf_2x1x4_flat_8_clamped", {a33, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a34, 1}, List<Term>{a12, 1}}}, {a8, 2}, "d03bff83ed2afeac"},
    {"conv2d_pw_f16_tex3d_f16_buf_2x2x8_block_8_clamped", {a35, 5}, {1u, 64u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a25, 1}, List<Term>{a17, 2}}}, {a8, 2}, "55bd0740458b06f9"},
    {"conv2d_pw_f16_tex3d_f16_buf_4x1x4_flat_4_clamped_kcheck", {a36, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a27, 1}, List<Term>{a12, 1}}}, {a8, 2}, "3f9b3181a4343133"},
    {"conv2d_pw_f16_tex3d_f16_buf_4x2x8_block_4_guarded", {a37, 5}, {8u, 8u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a14, 1}, List<Term>{a17, 2}}}, {a8, 2}, "d6147da23ee903a5"},
    {"conv2d_pw_f16_tex3d_f16_tex2d_1x1x4_flat_4_guarded", {a21, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {a8, 2}, "dbd3b4e74dff81d7"},
    {"conv2d_pw_f16_tex3d_f32_buf_1x1x4_block_4_clamped", {a32, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a23, 1}, "da2c095003f3f2ee"},
    {"conv2d_pw_f16_tex3d_f32_buf_1x1x4_block_4_clamped", {a32, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a23, 1}, "da2c095003f3f2ee"},
    {"conv2d_pw_f16_tex3d_f32_buf_1x1x4_block_4_clamped_kcheck", {a38, 5}, {32u, 4u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a23, 1}, "c123c58ed252cb4f"},
    {"conv2d_pw_f16_tex3d_f32_buf_2x1x4_block_8_clamped", {a24, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a25, 1}, List<Term>{a7, 2}}}, {a23, 1}, "2969e134dfc6ae29"},
    {"conv2d_pw_f16_tex3d_f32_buf_2x2x8_block_4_clamped_kcheck", {a39, 5}, {1u, 64u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a25, 1}, List<Term>{a17, 2}}}, {a23, 1}, "478cbfa0dd05dd1d"},
    {"conv2d_pw_f16_tex3d_f32_buf_2x2x8_block_8_clamped", {a35, 5}, {4u, 16u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a25, 1}, List<Term>{a17, 2}}}, {a23, 1}, "37b761d2b703d738"},
    {"conv2d_pw_f16_tex3d_f32_buf_4x1x4_block_8_clamped", {a13, 5}, {8u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a14, 1}, List<Term>{a7, 2}}}, {a23, 1}, "d304dd33e783fe8e"},
    {"conv2d_pw_f16_tex3d_f32_buf_4x2x8_block_4_clamped", {a40, 5}, {32u, 2u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a14, 1}, List<Term>{a17, 2}}}, {a23, 1}, "cd9337c7f3f4f1e5"},
    {"conv2d_pw_f16_tex3d_f32_tex2d_1x1x4_flat_4_guarded", {a21, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {a23, 1}, "7741f9736d0e0b44"},
    {"conv2d_pw_f32_buf_f32_buf_1x1x4_block_4_clamped", {a32, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "e57da0de1d6ca5e9"},
    {"conv2d_pw_f32_buf_f32_buf_1x1x4_block_8_clamped_kcheck", {a41, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "fe8a0cd9cd2550ee"},
    {"conv2d_pw_f32_buf_f32_buf_2x1x4_block_8_clamped", {a24, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a25, 1}, List<Term>{a7, 2}}}, {}, "80dbd52a40a7f436"},
    {"conv2d_pw_f32_buf_f32_buf_2x2x8_flat_4_clamped", {a42, 5}, {64u, 8u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a27, 1}, List<Term>{a12, 1}}}, {}, "35ecd8bc89325f16"},
    {"conv2d_pw_f32_buf_f32_buf_4x1x4_block_4_clamped", {a43, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a14, 1}, List<Term>{a7, 2}}}, {}, "3bd539cefab8169a"},
    {"conv2d_pw_f32_buf_f32_buf_4x1x4_block_8_clamped", {a13, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a14, 1}, List<Term>{a7, 2}}}, {}, "d2144256dc272be8"},
    {"conv2d_pw_f32_buf_f32_tex2d_1x1x4_block_4_clamped", {a20, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "dfebf1e66f4521fa"},
    {"conv2d_pw_f32_buf_f32_tex2d_1x1x4_flat_4_guarded", {a21, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {}, "070977388a4f2f91"},
    {"conv2d_pw_f32_buf_f32_tex2d_2x1x4_block_8_clamped_kcheck", {a44, 5}, {32u, 2u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a25, 1}, List<Term>{a7, 2}}}, {}, "9bc7eec41f4aa557"},
    {"conv2d_pw_f32_buf_f32_tex2d_2x2x8_flat_4_clamped", {a45, 5}, {32u, 8u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a27, 1}, List<Term>{a12, 1}}}, {}, "df9ac3945d70608c"},
    {"conv2d_pw_f32_tex3d_f32_buf_1x1x4_block_4_clamped", {a32, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "07fcaeb08431ffc4"},
    {"conv2d_pw_f32_tex3d_f32_buf_1x1x4_block_4_clamped", {a32, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "07fcaeb08431ffc4"},
    {"conv2d_pw_f32_tex3d_f32_buf_1x1x4_flat_8_clamped", {a9, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {}, "39bd188db5a3a6f4"},
    {"conv2d_pw_f32_tex3d_f32_buf_2x1x4_block_8_clamped", {a24, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a25, 1}, List<Term>{a7, 2}}}, {}, "b98fcf7810a33cee"},
    {"conv2d_pw_f32_tex3d_f32_buf_4x1x4_flat_4_clamped", {a46, 5}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a27, 1}, List<Term>{a12, 1}}}, {}, "a20a45abc603a9eb"},
    {"conv2d_pw_f32_tex3d_f32_buf_4x2x8_block_8_clamped_kcheck", {a47, 5}, {4u, 16u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a14, 1}, List<Term>{a17, 2}}}, {}, "66d56e7d432f37f2"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_1x1x4_block_4_clamped", {a20, 5}, {16u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "ddb35d76c201a552"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_1x1x4_block_8_clamped", {a48, 5}, {1u, 64u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "9740d7c9e5b9a576"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_1x1x4_flat_4_guarded", {a21, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a11, 1}, List<Term>{a12, 1}}}, {}, "c233d375dff190ab"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_4x2x8_block_4_clamped", {a49, 5}, {4u, 16u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a14, 1}, List<Term>{a17, 2}}}, {}, "dcdd8a19cfda6e79"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_4x2x8_block_4_clamped", {a49, 5}, {8u, 16u, 1u}, true, {{List<Term>{a16, 1}, List<Term>{a14, 1}, List<Term>{a17, 2}}}, {}, "dcdd8a19cfda6e79"},
};
inline constexpr List<Row> rows{all_rows, 58};

inline constexpr Section all_sections[] = {
    {"any", {{"f16", "buf", "f16"}}, {a52, 1}},
    {"any", {{"f16", "buf", "f32"}}, {a53, 1}},
    {"any", {{"f16", "tex3d", "f16"}}, {a54, 1}},
    {"any", {{"f16", "tex3d", "f32"}}, {a55, 1}},
    {"any", {{"f32", "buf", "f32"}}, {a56, 1}},
    {"any", {{"f32", "tex3d", "f32"}}, {a57, 1}},
    {"google", {{"f32", "buf", "f32"}}, {a59, 1}},
    {"google", {{"f32", "tex3d", "f32"}}, {a60, 1}},
    {"lavapipe", {{"f16", "buf", "f16"}}, {a74, 2}},
    {"lavapipe", {{"f16", "buf", "f32"}}, {a80, 2}},
    {"lavapipe", {{"f16", "tex3d", "f16"}}, {a85, 1}},
    {"lavapipe", {{"f16", "tex3d", "f32"}}, {a88, 2}},
    {"lavapipe", {{"f32", "buf", "f32"}}, {a91, 2}},
    {"lavapipe", {{"f32", "tex3d", "f32"}}, {a94, 1}},
    {"mesa", {{"f16", "buf", "f16"}}, {a95, 1}},
    {"mesa", {{"f16", "buf", "f32"}}, {a96, 1}},
    {"mesa", {{"f16", "tex3d", "f16"}}, {a97, 1}},
    {"mesa", {{"f16", "tex3d", "f32"}}, {a98, 1}},
    {"mesa", {{"f32", "buf", "f32"}}, {a59, 1}},
    {"mesa", {{"f32", "tex3d", "f32"}}, {a60, 1}},
    {"nvidia", {{"f16", "buf", "f16"}}, {a52, 1}},
    {"nvidia", {{"f16", "buf", "f32"}}, {a53, 1}},
    {"nvidia", {{"f16", "tex3d", "f16"}}, {a54, 1}},
    {"nvidia", {{"f16", "tex3d", "f32"}}, {a55, 1}},
    {"nvidia", {{"f32", "buf", "f32"}}, {a56, 1}},
    {"nvidia", {{"f32", "tex3d", "f32"}}, {a57, 1}},
    {"nvidia-hopper", {{"f16", "buf", "f16"}}, {a123, 3}},
    {"nvidia-hopper", {{"f16", "buf", "f32"}}, {a154, 3}},
    {"nvidia-hopper", {{"f16", "tex3d", "f16"}}, {a168, 1}},
    {"nvidia-hopper", {{"f16", "tex3d", "f32"}}, {a185, 1}},
    {"nvidia-hopper", {{"f32", "buf", "f32"}}, {a204, 2}},
    {"nvidia-hopper", {{"f32", "tex3d", "f32"}}, {a226, 2}},
    {"swiftshader", {{"f32", "buf", "f32"}}, {a229, 1}},
    {"swiftshader", {{"f32", "tex3d", "f32"}}, {a231, 1}},
};
inline constexpr List<Section> sections{all_sections, 34};

inline constexpr DeviceRule all_device_rules[] = {
    {"apple-m1", "apple", {a232, 1}, {a233, 1}, {}, {a234, 1}, 0u},
    {"apple-m2", "apple", {a232, 1}, {a233, 1}, {}, {a235, 1}, 0u},
    {"apple-m3", "apple", {a232, 1}, {a233, 1}, {}, {a236, 1}, 0u},
    {"apple-m4", "apple", {a232, 1}, {a233, 1}, {}, {a237, 1}, 0u},
    {"apple-m5", "apple", {a232, 1}, {a233, 1}, {}, {a238, 1}, 0u},
    {"apple-mobile", "apple", {a232, 1}, {a233, 1}, {}, {a239, 2}, 0u},
    {"apple", "apple", {a232, 1}, {a233, 1}, {}, {}, 0u},
    {"lavapipe", "mesa", {a240, 1}, {}, {a241, 1}, {}, 0u},
    {"mesa", "mesa", {a240, 1}, {}, {}, {}, 0u},
    {"swiftshader", "google", {a242, 1}, {}, {a243, 1}, {}, 0u},
    {"google", "google", {a242, 1}, {}, {}, {}, 0u},
    {"adreno-702", "qualcomm", {a244, 1}, {}, {}, {a245, 2}, 0u},
    {"adreno-5xx", "qualcomm", {a244, 1}, {}, {}, {a246, 2}, 0u},
    {"adreno-6xx", "qualcomm", {a244, 1}, {}, {}, {a247, 2}, 0u},
    {"adreno-7xx", "qualcomm", {a244, 1}, {}, {}, {a248, 2}, 0u},
    {"adreno-8xx", "qualcomm", {a244, 1}, {}, {}, {a249, 2}, 0u},
    {"adreno-x1", "qualcomm", {a244, 1}, {}, {}, {a250, 3}, 0u},
    {"adreno-x2", "qualcomm", {a244, 1}, {}, {}, {a251, 3}, 0u},
    {"qualcomm", "qualcomm", {a244, 1}, {}, {}, {}, 0u},
    {"mali-midgard", "arm", {a252, 1}, {}, {}, {a253, 1}, 0u},
    {"mali-bifrost", "arm", {a252, 1}, {}, {}, {a254, 6}, 0u},
    {"mali-valhall", "arm", {a252, 1}, {}, {}, {a255, 10}, 0u},
    {"mali-5th-gen", "arm", {a252, 1}, {}, {}, {a256, 6}, 0u},
    {"arm", "arm", {a252, 1}, {}, {}, {}, 0u},
    {"powervr-rogue", "imagination", {a257, 1}, {}, {}, {a258, 1}, 0u},
    {"powervr-a", "imagination", {a257, 1}, {}, {}, {a259, 4}, 0u},
    {"powervr-b", "imagination", {a257, 1}, {}, {}, {a260, 5}, 0u},
    {"powervr-c", "imagination", {a257, 1}, {}, {}, {a261, 3}, 0u},
    {"powervr-d", "imagination", {a257, 1}, {}, {}, {a262, 3}, 0u},
    {"imagination", "imagination", {a257, 1}, {}, {}, {}, 0u},
    {"nvidia-blackwell-dc", "nvidia", {a263, 1}, {}, {}, {a264, 5}, 0u},
    {"nvidia-blackwell", "nvidia", {a263, 1}, {}, {}, {a265, 3}, 0u},
    {"nvidia-hopper", "nvidia", {a263, 1}, {}, {}, {a266, 5}, 0u},
    {"nvidia-orin", "nvidia", {a263, 1}, {}, {}, {a267, 1}, 0u},
    {"nvidia-ada", "nvidia", {a263, 1}, {}, {}, {a268, 7}, 0u},
    {"nvidia-ampere-dc", "nvidia", {a263, 1}, {}, {}, {a269, 3}, 0u},
    {"nvidia-ampere", "nvidia", {a263, 1}, {}, {}, {a270, 9}, 0u},
    {"nvidia-turing", "nvidia", {a263, 1}, {}, {}, {a271, 12}, 0u},
    {"nvidia-volta", "nvidia", {a263, 1}, {}, {}, {a272, 4}, 0u},
    {"nvidia-pascal", "nvidia", {a263, 1}, {}, {}, {a273, 11}, 0u},
    {"nvidia-maxwell", "nvidia", {a263, 1}, {}, {}, {a274, 5}, 0u},
    {"nvidia", "nvidia", {a263, 1}, {}, {}, {}, 0u},
    {"amd-cdna3", "amd", {a275, 1}, {}, {}, {a276, 4}, 0u},
    {"amd-cdna2", "amd", {a275, 1}, {}, {}, {a277, 2}, 0u},
    {"amd-cdna1", "amd", {a275, 1}, {}, {}, {a278, 3}, 0u},
    {"amd-rdna4", "amd", {a275, 1}, {}, {}, {a279, 4}, 0u},
    {"amd-rdna3.5", "amd", {a275, 1}, {}, {}, {a280, 4}, 0u},
    {"amd-rdna3", "amd", {a275, 1}, {}, {}, {a281, 6}, 0u},
    {"amd-rdna2", "amd", {a275, 1}, {}, {}, {a282, 8}, 0u},
    {"amd-rdna1", "amd", {a275, 1}, {}, {}, {a283, 4}, 0u},
    {"amd-gcn", "amd", {a275, 1}, {}, {}, {a284, 8}, 0u},
    {"amd-gcn-unnamed", "amd", {a275, 1}, {}, {a285, 1}, {}, 64u},
    {"amd", "amd", {a275, 1}, {}, {}, {}, 0u},
    {"xclipse-9xx", "samsung", {a286, 1}, {}, {}, {a287, 1}, 0u},
    {"xclipse-5xx", "samsung", {a286, 1}, {}, {}, {a288, 1}, 0u},
    {"samsung", "samsung", {a286, 1}, {}, {}, {}, 0u},
    {"intel-xe2", "intel", {a289, 1}, {}, {}, {a290, 6}, 0u},
    {"intel-alchemist", "intel", {a289, 1}, {}, {}, {a291, 3}, 0u},
    {"intel-xe-lpg", "intel", {a289, 1}, {}, {}, {a292, 4}, 0u},
    {"intel-xe-lp", "intel", {a289, 1}, {}, {}, {a293, 6}, 0u},
    {"intel-gen11", "intel", {a289, 1}, {}, {}, {a294, 3}, 0u},
    {"intel-gen9", "intel", {a289, 1}, {}, {}, {a295, 10}, 0u},
    {"intel", "intel", {a289, 1}, {}, {}, {}, 0u},
    {"v3d-4", "broadcom", {a296, 1}, {}, {}, {a297, 1}, 0u},
    {"v3d-7", "broadcom", {a296, 1}, {}, {}, {a298, 1}, 0u},
    {"broadcom", "broadcom", {a296, 1}, {}, {}, {}, 0u},
};
inline constexpr List<DeviceRule> device_rules{all_device_rules, 66};

template <typename T>
constexpr bool contains(const List<T>& list, const T& value) {
  for (const T& item : list) {
    if (item == value) return true;
  }
  return false;
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_word(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z'); }

constexpr bool name_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return false;
  const bool ends_in_digit = is_digit(pattern.back()) || pattern.back() == '#';
  for (std::size_t start = 0; start + pattern.size() <= name.size(); ++start) {
    const std::size_t end = start + pattern.size();
    if (start != 0 && is_word(name[start - 1])) continue;
    if (ends_in_digit && end < name.size() && is_digit(name[end])) continue;
    bool same = true;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const char c = name[start + i];
      same = same && (pattern[i] == '#' ? is_digit(c) : pattern[i] == lower(c));
    }
    if (same) return true;
  }
  return false;
}

constexpr bool matches(const DeviceRule& rule, const Device& device) {
  if (!contains(rule.vendor_ids, device.vendor_id) && !contains(rule.vendor_drivers, device.driver_id)) return false;
  if (rule.drivers.size != 0 && !contains(rule.drivers, device.driver_id)) return false;
  if (rule.subgroup_size != 0 && rule.subgroup_size != device.subgroup_size) return false;
  if (rule.names.size == 0) return true;
  for (const std::string_view& pattern : rule.names) {
    if (name_matches(pattern, device.name)) return true;
  }
  return false;
}

constexpr std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t max = ~std::uint64_t{0};
  return a != 0 && b > max / a ? max : a * b;
}

// Of `accepts`: sums and products saturate, division by a positive number rounds down.
constexpr std::int64_t add(std::int64_t a, std::int64_t b) {
  using limits = std::numeric_limits<std::int64_t>;
  if (b > 0 && a > limits::max() - b) return limits::max();
  if (b < 0 && a < limits::min() - b) return limits::min();
  return a + b;
}

constexpr std::int64_t subtract(std::int64_t a, std::int64_t b) {
  using limits = std::numeric_limits<std::int64_t>;
  if (b < 0 && a > limits::max() + b) return limits::max();
  if (b > 0 && a < limits::min() + b) return limits::min();
  return a - b;
}

constexpr std::uint64_t magnitude(std::int64_t a) {
  return a < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
}

constexpr std::int64_t multiply(std::int64_t a, std::int64_t b) {
  using limits = std::numeric_limits<std::int64_t>;
  const std::uint64_t product = saturating_mul(magnitude(a), magnitude(b));
  if (product > static_cast<std::uint64_t>(limits::max())) return (a < 0) != (b < 0) ? limits::min() : limits::max();
  const std::int64_t value = static_cast<std::int64_t>(product);
  return (a < 0) != (b < 0) ? -value : value;
}

constexpr std::int64_t div_floor(std::int64_t a, std::int64_t by) { return a / by - (a % by < 0 ? 1 : 0); }

constexpr std::int64_t rem_floor(std::int64_t a, std::int64_t by) { return a % by + (a % by < 0 ? by : 0); }

constexpr std::uint64_t div_ceil(std::uint64_t n, std::uint64_t per) {
  return n / per + (n % per != 0 ? std::uint64_t{1} : std::uint64_t{0});
}

constexpr std::uint64_t product(const List<std::size_t>& of, const Case& c) {
  std::uint64_t value = 1;
  for (const std::size_t index : of) {
    const std::int64_t f = feature(c, index);
    value = saturating_mul(value, f > 0 ? static_cast<std::uint64_t>(f) : std::uint64_t{0});
  }
  return value;
}

constexpr bool holds(const List<Condition>& when, const Case& c) {
  for (const Condition& condition : when) {
    if ((product(condition.product, c) >= condition.bound) != condition.at_least) return false;
  }
  return true;
}

constexpr bool lies_within(const List<Range>& ranges, const Case& c) {
  for (const Range& range : ranges) {
    const std::int64_t value = feature(c, range.feature);
    if (value < range.least || value > range.most) return false;
  }
  return ranges.size != 0;
}

constexpr bool has_feature(const Device& device, std::string_view wanted) {
  for (std::size_t i = 0; i < device.n_features; ++i) {
    if (device.features[i] == wanted) return true;
  }
  return false;
}

constexpr bool can_run(const Row& row, const Device& device) {
  std::uint64_t invocations = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    invocations = saturating_mul(invocations, row.local[axis]);
    if (row.local[axis] > device.max_local_size[axis]) return false;
  }
  if (invocations > device.max_invocations) return false;
  for (const std::string_view& wanted : row.requires_features) {
    if (!has_feature(device, wanted)) return false;
  }
  return true;
}

inline std::optional<Pick> dispatch(const Row& row, const Device& device, const Case& c, bool is_measured) {
  if (!can_run(row, device)) return std::nullopt;
  Pick pick{&row, row.local, {0, 0, 0}, is_measured};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::uint64_t grid = 1;
    for (const Term& term : row.grid[axis]) {
      grid = saturating_mul(grid, div_ceil(product(term.of, c), term.per));
    }
    std::uint32_t local = row.local[axis];
    if (row.shrink_to_grid) {
      local = local > 1 ? local : 1;
      while (local > 1 && local % 2 == 0 && local / 2 >= (grid > 1 ? grid : 1)) local /= 2;
    }
    const std::uint64_t n_groups = div_ceil(grid, local > 1 ? local : 1);
    if (n_groups > device.max_group_count[axis]) return std::nullopt;
    pick.local[axis] = local;
    pick.groups[axis] = static_cast<std::uint32_t>(n_groups);
  }
  return pick;
}

inline const Pack* usable_pack(const Device& device, const Given& given, const Case& c) {
  std::array<std::string_view, 3> order{"any", "any", "any"};
  for (const DeviceRule& rule : device_rules) {
    if (device.device_class ? rule.device_class == *device.device_class : matches(rule, device)) {
      order[0] = rule.device_class;
      order[1] = rule.vendor;
      break;
    }
  }
  const std::array<std::string_view, n_given> wanted = given_values(given);
  for (const std::string_view& name : order) {
    for (const Section& section : sections) {
      if (section.device_class != name || section.given != wanted) continue;
      for (const Pack& pack : section.packs) {
        if (holds(pack.when, c) && can_run(rows.begin()[pack.fallback], device)) return &pack;
      }
    }
  }
  return nullptr;
}

}  // namespace detail

// Whether the kernel computes such a case: kernel_h == 1 and kernel_w == 1 and groups == 1.
constexpr bool accepts([[maybe_unused]] const Case& c) {
  return ((c.kernel_h == std::int64_t{1}) && (c.kernel_w == std::int64_t{1}) && (c.groups == std::int64_t{1}));
}

// How weights are packed on this device for these channels. Sizes do not matter here.
inline std::optional<List<AxisValue>> pack(const Device& device, const Given& given, const Case& c) {
  const detail::Pack* found = detail::usable_pack(device, given, c);
  if (found == nullptr) return std::nullopt;
  return found->values;
}

// What to dispatch; nothing if the kernel does not compute such a case, or the table has nothing that this device can run.
inline std::optional<Pick> select(const Device& device, const Given& given, const Case& c) {
  if (!accepts(c)) return std::nullopt;
  const detail::Pack* found = detail::usable_pack(device, given, c);
  if (found == nullptr) return std::nullopt;
  const Row* all = detail::rows.begin();
  for (const detail::Rule& rule : found->rules) {
    if (!detail::holds(rule.when, c)) continue;
    const bool is_measured = detail::lies_within(rule.measured, c);
    if (const auto pick = detail::dispatch(all[rule.row], device, c, is_measured)) return pick;
    for (const std::size_t spare : rule.spares) {
      if (const auto pick = detail::dispatch(all[spare], device, c, is_measured)) return pick;
    }
    break;
  }
  return detail::dispatch(all[found->fallback], device, c, detail::lies_within(found->fallback_measured, c));
}

}  // namespace tilesmith::conv2d_pw
