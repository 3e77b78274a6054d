// The dispatch table of kernel conv2d_pw. Written by `tilesmith table` from results;
// do not edit. Evidence and regret are in the JSON beside it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
};

namespace detail {

struct Condition {
  List<std::size_t> product;
  bool at_least;
  std::uint64_t bound;
};

struct Rule {
  List<Condition> when;
  std::size_t row;
  List<std::size_t> spares;
};

struct Pack {
  List<Condition> when;
  List<AxisValue> values;
  List<Rule> rules;
  std::size_t fallback;
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
inline constexpr Pack a51[] = {{{}, {a50, 1}, {}, 8}};
inline constexpr Pack a52[] = {{{}, {a50, 1}, {}, 15}};
inline constexpr Pack a53[] = {{{}, {a50, 1}, {}, 27}};
inline constexpr Pack a54[] = {{{}, {a50, 1}, {}, 36}};
inline constexpr Pack a55[] = {{{}, {a50, 1}, {}, 44}};
inline constexpr Pack a56[] = {{{}, {a50, 1}, {}, 55}};
inline constexpr std::size_t a57[] = {15, 8, 1};
inline constexpr Condition a58[] = {{{a57, 3}, true, 17u}};
inline constexpr Condition a59[] = {{{a57, 3}, false, 17u}};
inline constexpr std::size_t a60[] = {2};
inline constexpr Condition a61[] = {{{a60, 1}, true, 25u}};
inline constexpr AxisValue a62[] = {{"weights", "buf"}};
inline constexpr Rule a63[] = {{{a58, 1}, 6, {}}, {{a59, 1}, 0, {}}};
inline constexpr Condition a64[] = {{{a60, 1}, false, 25u}};
inline constexpr Rule a65[] = {{{}, 9, {}}};
inline constexpr Pack a66[] = {{{a61, 1}, {a62, 1}, {a63, 2}, 0}, {{a64, 1}, {a50, 1}, {a65, 1}, 8}};
inline constexpr Condition a67[] = {{{a1, 1}, true, 21u}};
inline constexpr Rule a68[] = {{{}, 18, {}}};
inline constexpr Condition a69[] = {{{a1, 1}, false, 21u}};
inline constexpr Rule a70[] = {{{}, 10, {}}};
inline constexpr Pack a71[] = {{{a67, 1}, {a50, 1}, {a68, 1}, 15}, {{a69, 1}, {a62, 1}, {a70, 1}, 10}};
inline constexpr Condition a72[] = {{{a57, 3}, true, 129u}};
inline constexpr Condition a73[] = {{{a57, 3}, true, 9u}, {{a57, 3}, false, 129u}};
inline constexpr Condition a74[] = {{{a57, 3}, false, 9u}};
inline constexpr Rule a75[] = {{{a72, 1}, 26, {}}, {{a73, 2}, 25, {}}, {{a74, 1}, 22, {}}};
inline constexpr Pack a76[] = {{{}, {a62, 1}, {a75, 3}, 25}};
inline constexpr Rule a77[] = {{{}, 35, {}}};
inline constexpr Rule a78[] = {{{}, 36, {}}};
inline constexpr Pack a79[] = {{{a67, 1}, {a62, 1}, {a77, 1}, 35}, {{a69, 1}, {a50, 1}, {a78, 1}, 36}};
inline constexpr Rule a80[] = {{{a58, 1}, 46, {}}, {{a59, 1}, 43, {}}};
inline constexpr Rule a81[] = {{{}, 40, {}}};
inline constexpr Pack a82[] = {{{a61, 1}, {a50, 1}, {a80, 2}, 44}, {{a64, 1}, {a62, 1}, {a81, 1}, 40}};
inline constexpr Condition a83[] = {{{a57, 3}, true, 9u}};
inline constexpr Rule a84[] = {{{a83, 1}, 57, {}}, {{a74, 1}, 53, {}}};
inline constexpr Pack a85[] = {{{}, {a50, 1}, {a84, 2}, 55}};
inline constexpr Condition a86[] = {{{a57, 3}, true, 449u}};
inline constexpr Condition a87[] = {{{a57, 3}, true, 99u}, {{a57, 3}, false, 449u}};
inline constexpr Condition a88[] = {{{a57, 3}, false, 99u}};
inline constexpr Condition a89[] = {{{a60, 1}, true, 472u}, {{a1, 1}, true, 314u}};
inline constexpr Rule a90[] = {{{a86, 1}, 3, {}}, {{a87, 2}, 1, {}}, {{a88, 1}, 2, {}}};
inline constexpr Condition a91[] = {{{a60, 1}, true, 472u}, {{a1, 1}, false, 314u}};
inline constexpr Rule a92[] = {{{}, 7, {}}};
inline constexpr std::size_t a93[] = {3, 15, 8, 1};
inline constexpr Condition a94[] = {{{a1, 1}, true, 56u}, {{a93, 4}, true, 344065u}, {{a57, 3}, true, 897u}};
inline constexpr Condition a95[] = {{{a1, 1}, true, 56u}, {{a93, 4}, true, 344065u}, {{a57, 3}, false, 897u}};
inline constexpr Condition a96[] = {{{a1, 1}, false, 56u}, {{a93, 4}, true, 344065u}};
inline constexpr Condition a97[] = {{{a93, 4}, false, 344065u}};
inline constexpr Condition a98[] = {{{a60, 1}, false, 472u}};
inline constexpr Rule a99[] = {{{a94, 3}, 4, {}}, {{a95, 3}, 3, {}}, {{a96, 2}, 5, {}}, {{a97, 1}, 2, {}}};
inline constexpr Pack a100[] = {{{a89, 2}, {a62, 1}, {a90, 3}, 2}, {{a91, 2}, {a50, 1}, {a92, 1}, 8}, {{a98, 1}, {a62, 1}, {a99, 4}, 1}};
inline constexpr Condition a101[] = {{{a93, 4}, true, 255402u}};
inline constexpr Condition a102[] = {{{a1, 1}, true, 496u}, {{a93, 4}, false, 255402u}};
inline constexpr Condition a103[] = {{{a1, 1}, false, 496u}, {{a93, 4}, false, 255402u}};
inline constexpr std::size_t a104[] = {2, 3};
inline constexpr Condition a105[] = {{{a60, 1}, true, 108u}, {{a104, 2}, true, 10034u}};
inline constexpr Rule a106[] = {{{a101, 1}, 17, {}}, {{a102, 2}, 16, {}}, {{a103, 2}, 14, {}}};
inline constexpr Condition a107[] = {{{a57, 3}, true, 14337u}};
inline constexpr Condition a108[] = {{{a57, 3}, false, 14337u}};
inline constexpr Condition a109[] = {{{a60, 1}, true, 108u}, {{a104, 2}, false, 10034u}};
inline constexpr Rule a110[] = {{{a107, 1}, 13, {}}, {{a108, 1}, 11, {}}};
inline constexpr Condition a111[] = {{{a104, 2}, true, 21284u}, {{a93, 4}, true, 184998u}};
inline constexpr Condition a112[] = {{{a104, 2}, true, 10862u}, {{a104, 2}, false, 21284u}, {{a93, 4}, true, 184998u}};
inline constexpr Condition a113[] = {{{a60, 1}, true, 79u}, {{a104, 2}, false, 10862u}, {{a93, 4}, true, 184998u}};
inline constexpr Condition a114[] = {{{a60, 1}, false, 79u}, {{a104, 2}, false, 10862u}, {{a93, 4}, true, 184998u}};
inline constexpr Condition a115[] = {{{a93, 4}, false, 184998u}};
inline constexpr Condition a116[] = {{{a60, 1}, false, 108u}};
inline constexpr Rule a117[] = {{{a111, 2}, 12, {}}, {{a112, 3}, 13, {}}, {{a113, 3}, 11, {}}, {{a114, 3}, 12, {}}, {{a115, 1}, 11, {}}};
inline constexpr Pack a118[] = {{{a105, 2}, {a50, 1}, {a106, 3}, 15}, {{a109, 2}, {a62, 1}, {a110, 2}, 11}, {{a116, 1}, {a62, 1}, {a117, 5}, 12}};
inline constexpr Condition a119[] = {{{a1, 1}, true, 79u}, {{a93, 4}, true, 255402u}};
inline constexpr Condition a120[] = {{{a1, 1}, false, 79u}, {{a93, 4}, true, 255402u}};
inline constexpr Condition a121[] = {{{a93, 4}, true, 122906u}, {{a93, 4}, false, 255402u}};
inline constexpr Condition a122[] = {{{a1, 1}, true, 628u}, {{a93, 4}, false, 122906u}};
inline constexpr Condition a123[] = {{{a1, 1}, false, 628u}, {{a93, 4}, false, 122906u}, {{a57, 3}, true, 1569u}};
inline constexpr Condition a124[] = {{{a1, 1}, false, 628u}, {{a93, 4}, false, 122906u}, {{a57, 3}, false, 1569u}};
inline constexpr Rule a125[] = {{{a119, 2}, 23, {}}, {{a120, 2}, 24, {}}, {{a121, 2}, 19, {}}, {{a122, 2}, 19, {}}, {{a123, 3}, 20, {}}, {{a124, 3}, 21, {}}};
inline constexpr Pack a126[] = {{{}, {a62, 1}, {a125, 6}, 19}};
inline constexpr Condition a127[] = {{{a93, 4}, true, 1816187u}};
inline constexpr Condition a128[] = {{{a93, 4}, true, 561855u}, {{a93, 4}, false, 1816187u}};
inline constexpr std::size_t a129[] = {33};
inline constexpr Condition a130[] = {{{a93, 4}, true, 122906u}, {{a93, 4}, false, 561855u}, {{a57, 3}, true, 289u}};
inline constexpr Condition a131[] = {{{a93, 4}, true, 122906u}, {{a93, 4}, false, 561855u}, {{a57, 3}, false, 289u}};
inline constexpr Condition a132[] = {{{a1, 1}, true, 430u}, {{a93, 4}, false, 122906u}, {{a57, 3}, true, 99u}};
inline constexpr Condition a133[] = {{{a1, 1}, true, 430u}, {{a93, 4}, false, 122906u}, {{a57, 3}, false, 99u}};
inline constexpr Condition a134[] = {{{a1, 1}, false, 430u}, {{a93, 4}, false, 122906u}, {{a57, 3}, true, 1569u}};
inline constexpr Condition a135[] = {{{a1, 1}, false, 430u}, {{a93, 4}, false, 122906u}, {{a57, 3}, false, 1569u}};
inline constexpr Rule a136[] = {{{a127, 1}, 32, {}}, {{a128, 2}, 34, {a129, 1}}, {{a130, 3}, 29, {}}, {{a131, 3}, 31, {}}, {{a132, 3}, 31, {}}, {{a133, 3}, 29, {}}, {{a134, 3}, 30, {}}, {{a135, 3}, 28, {}}};
inline constexpr Pack a137[] = {{{}, {a62, 1}, {a136, 8}, 29}};
inline constexpr Condition a138[] = {{{a93, 4}, true, 255402u}, {{a57, 3}, true, 2049u}};
inline constexpr Condition a139[] = {{{a93, 4}, true, 255402u}, {{a57, 3}, false, 2049u}};
inline constexpr Condition a140[] = {{{a60, 1}, true, 51u}, {{a93, 4}, true, 165467u}, {{a93, 4}, false, 255402u}};
inline constexpr Condition a141[] = {{{a60, 1}, false, 51u}, {{a93, 4}, true, 165467u}, {{a93, 4}, false, 255402u}};
inline constexpr Condition a142[] = {{{a1, 1}, true, 628u}, {{a93, 4}, false, 165467u}};
inline constexpr Condition a143[] = {{{a1, 1}, true, 30u}, {{a1, 1}, false, 628u}, {{a93, 4}, false, 165467u}};
inline constexpr Condition a144[] = {{{a1, 1}, false, 30u}, {{a93, 4}, false, 165467u}};
inline constexpr Condition a145[] = {{{a1, 1}, true, 26u}};
inline constexpr Rule a146[] = {{{a138, 2}, 41, {}}, {{a139, 2}, 42, {}}, {{a140, 3}, 39, {}}, {{a141, 3}, 38, {}}, {{a142, 2}, 38, {}}, {{a143, 3}, 37, {}}, {{a144, 2}, 38, {}}};
inline constexpr Condition a147[] = {{{a1, 1}, false, 26u}};
inline constexpr Rule a148[] = {{{}, 45, {}}};
inline constexpr Pack a149[] = {{{a145, 1}, {a62, 1}, {a146, 7}, 39}, {{a147, 1}, {a50, 1}, {a148, 1}, 44}};
inline constexpr Condition a150[] = {{{a93, 4}, true, 1284239u}};
inline constexpr Condition a151[] = {{{a93, 4}, true, 561855u}, {{a93, 4}, false, 1284239u}};
inline constexpr Condition a152[] = {{{a93, 4}, true, 194331u}, {{a93, 4}, false, 561855u}, {{a57, 3}, true, 1793u}};
inline constexpr Condition a153[] = {{{a93, 4}, true, 194331u}, {{a93, 4}, false, 561855u}, {{a57, 3}, false, 1793u}};
inline constexpr Condition a154[] = {{{a1, 1}, true, 628u}, {{a93, 4}, false, 194331u}, {{a57, 3}, true, 85u}};
inline constexpr Condition a155[] = {{{a1, 1}, true, 628u}, {{a93, 4}, false, 194331u}, {{a57, 3}, false, 85u}};
inline constexpr Condition a156[] = {{{a1, 1}, false, 628u}, {{a93, 4}, false, 194331u}, {{a57, 3}, true, 1569u}};
inline constexpr Condition a157[] = {{{a1, 1}, false, 628u}, {{a93, 4}, false, 194331u}, {{a57, 3}, false, 1569u}};
inline constexpr Condition a158[] = {{{a104, 2}, true, 2576u}};
inline constexpr Rule a159[] = {{{a150, 1}, 52, {}}, {{a151, 2}, 51, {}}, {{a152, 3}, 50, {}}, {{a153, 3}, 49, {}}, {{a154, 3}, 49, {}}, {{a155, 3}, 48, {}}, {{a156, 3}, 48, {}}, {{a157, 3}, 47, {}}};
inline constexpr Condition a160[] = {{{a104, 2}, false, 2576u}};
inline constexpr Rule a161[] = {{{}, 54, {}}};
inline constexpr Pack a162[] = {{{a158, 1}, {a62, 1}, {a159, 8}, 50}, {{a160, 1}, {a50, 1}, {a161, 1}, 55}};
inline constexpr std::size_t a163[] = {43};
inline constexpr Rule a164[] = {{{a83, 1}, 46, {a163, 1}}, {{a74, 1}, 43, {}}};
inline constexpr Pack a165[] = {{{}, {a50, 1}, {a164, 2}, 44}};
inline constexpr Rule a166[] = {{{a83, 1}, 56, {}}, {{a74, 1}, 53, {}}};
inline constexpr Pack a167[] = {{{}, {a50, 1}, {a166, 2}, 55}};
inline constexpr std::uint32_t a168[] = {4203};
inline constexpr std::uint32_t a169[] = {26};
inline constexpr std::string_view a170[] = {"m1"};
inline constexpr std::string_view a171[] = {"m2"};
inline constexpr std::string_view a172[] = {"m3"};
inline constexpr std::string_view a173[] = {"m4"};
inline constexpr std::string_view a174[] = {"m5"};
inline constexpr std::string_view a175[] = {"a1#", "a2#"};
inline constexpr std::uint32_t a176[] = {65541};
inline constexpr std::uint32_t a177[] = {13};
inline constexpr std::uint32_t a178[] = {6880};
inline constexpr std::uint32_t a179[] = {10};
inline constexpr std::uint32_t a180[] = {20803};
inline constexpr std::string_view a181[] = {"adreno (tm) 702", "adreno(tm) 702"};
inline constexpr std::string_view a182[] = {"adreno (tm) 5##", "adreno(tm) 5##"};
inline constexpr std::string_view a183[] = {"adreno (tm) 6##", "adreno(tm) 6##"};
inline constexpr std::string_view a184[] = {"adreno (tm) 7##", "adreno(tm) 7##"};
inline constexpr std::string_view a185[] = {"adreno (tm) 8##", "adreno(tm) 8##"};
inline constexpr std::string_view a186[] = {"adreno(tm) x1", "adreno (tm) x1", "x1-##"};
inline constexpr std::string_view a187[] = {"adreno(tm) x2", "adreno (tm) x2", "x2-##"};
inline constexpr std::uint32_t a188[] = {5045};
inline constexpr std::string_view a189[] = {"mali-t###"};
inline constexpr std::string_view a190[] = {"g71", "g72", "g76", "g31", "g51", "g52"};
inline constexpr std::string_view a191[] = {"g57", "g68", "g77", "g78", "g310", "g510", "g610", "g710", "g615", "g715"};
inline constexpr std::string_view a192[] = {"g620", "g720", "g625", "g725", "g925", "mali-g1"};
inline constexpr std::uint32_t a193[] = {4112};
inline constexpr std::string_view a194[] = {"rogue"};
inline constexpr std::string_view a195[] = {"a-series", "axe", "axm", "axt"};
inline constexpr std::string_view a196[] = {"b-series", "bxe", "bxm", "bxs", "bxt"};
inline constexpr std::string_view a197[] = {"c-series", "cxt", "cxm"};
inline constexpr std::string_view a198[] = {"d-series", "dxt", "dxd"};
inline constexpr std::uint32_t a199[] = {4318};
inline constexpr std::string_view a200[] = {"b100", "b200", "b300", "gb200", "gb300"};
inline constexpr std::string_view a201[] = {"rtx 50##", "blackwell", "gb10"};
inline constexpr std::string_view a202[] = {"h100", "h200", "h800", "h20", "gh200"};
inline constexpr std::string_view a203[] = {"orin"};
inline constexpr std::string_view a204[] = {"rtx 40##", "ada generation", "ada", "l4", "l40", "l20", "l2"};
inline constexpr std::string_view a205[] = {"a100", "a800", "a30"};
inline constexpr std::string_view a206[] = {"rtx 30##", "rtx a####", "rtx a###", "rtx 2050", "a10", "a10g", "a16", "a40", "a2"};
inline constexpr std::string_view a207[] = {"rtx 20##", "gtx 16##", "mx4##", "mx5##", "t4", "t4g", "t4##", "t6##", "t1000", "t2000", "quadro rtx", "titan rtx"};
inline constexpr std::string_view a208[] = {"v100", "gv100", "titan v", "xavier"};
inline constexpr std::string_view a209[] = {"gtx 10##", "gt 10##", "mx1##", "mx2##", "mx3##", "p100", "p40", "p4", "quadro p####", "titan x", "titan xp"};
inline constexpr std::string_view a210[] = {"gtx 9##", "gtx 7##", "quadro m####", "m40", "m60"};
inline constexpr std::uint32_t a211[] = {4098};
inline constexpr std::string_view a212[] = {"mi3##", "mi3##a", "mi3##x", "gfx94#"};
inline constexpr std::string_view a213[] = {"mi2##", "gfx90a"};
inline constexpr std::string_view a214[] = {"mi100", "arcturus", "gfx908"};
inline constexpr std::string_view a215[] = {"rx 9###", "navi4#", "gfx120#", "r9###"};
inline constexpr std::string_view a216[] = {"gfx115#", "8##m", "8###s", "strix"};
inline constexpr std::string_view a217[] = {"rx 7###", "navi3#", "gfx110#", "phoenix", "7##m", "w7###"};
inline constexpr std::string_view a218[] = {"rx 6###", "navi2#", "gfx103#", "rembrandt", "vangogh", "raphael", "6##m", "w6###"};
inline constexpr std::string_view a219[] = {"rx 5###", "navi1#", "gfx101#", "w5###"};
inline constexpr std::string_view a220[] = {"vega", "vega##", "polaris##", "renoir", "raven", "raven2", "rx 4##", "rx 5##"};
inline constexpr std::uint32_t a221[] = {3};
inline constexpr std::uint32_t a222[] = {5197};
inline constexpr std::string_view a223[] = {"xclipse 9##"};
inline constexpr std::string_view a224[] = {"xclipse 5##"};
inline constexpr std::uint32_t a225[] = {32902};
inline constexpr std::string_view a226[] = {"arc(tm) b###", "arc b###", "bmg", "lnl", "lunar lake", "arc(tm) 1##v"};
inline constexpr std::string_view a227[] = {"arc(tm) a###", "arc a###", "dg2"};
inline constexpr std::string_view a228[] = {"mtl", "arl", "arc(tm) graphics", "meteor lake"};
inline constexpr std::string_view a229[] = {"tgl", "iris(r) xe", "dg1", "adl", "rpl", "uhd graphics 7##"};
inline constexpr std::string_view a230[] = {"icl", "jsl", "ehl"};
inline constexpr std::string_view a231[] = {"skl", "kbl", "cfl", "cml", "glk", "apl", "bxt", "hd graphics 5##", "hd graphics 6##", "iris plus"};
inline constexpr std::uint32_t a232[] = {5348};
inline constexpr std::string_view a233[] = {"v3d 4"};
inline constexpr std::string_view a234[] = {"v3d 7"};

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
    {"any", {{"f16", "buf", "f16"}}, {a51, 1}},
    {"any", {{"f16", "buf", "f32"}}, {a52, 1}},
    {"any", {{"f16", "tex3d", "f16"}}, {a53, 1}},
    {"any", {{"f16", "tex3d", "f32"}}, {a54, 1}},
    {"any", {{"f32", "buf", "f32"}}, {a55, 1}},
    {"any", {{"f32", "tex3d", "f32"}}, {a56, 1}},
    {"google", {{"f32", "buf", "f32"}}, {a55, 1}},
    {"google", {{"f32", "tex3d", "f32"}}, {a56, 1}},
    {"lavapipe", {{"f16", "buf", "f16"}}, {a66, 2}},
    {"lavapipe", {{"f16", "buf", "f32"}}, {a71, 2}},
    {"lavapipe", {{"f16", "tex3d", "f16"}}, {a76, 1}},
    {"lavapipe", {{"f16", "tex3d", "f32"}}, {a79, 2}},
    {"lavapipe", {{"f32", "buf", "f32"}}, {a82, 2}},
    {"lavapipe", {{"f32", "tex3d", "f32"}}, {a85, 1}},
    {"mesa", {{"f16", "buf", "f16"}}, {a51, 1}},
    {"mesa", {{"f16", "buf", "f32"}}, {a52, 1}},
    {"mesa", {{"f16", "tex3d", "f16"}}, {a53, 1}},
    {"mesa", {{"f16", "tex3d", "f32"}}, {a54, 1}},
    {"mesa", {{"f32", "buf", "f32"}}, {a55, 1}},
    {"mesa", {{"f32", "tex3d", "f32"}}, {a56, 1}},
    {"nvidia", {{"f16", "buf", "f16"}}, {a51, 1}},
    {"nvidia", {{"f16", "buf", "f32"}}, {a52, 1}},
    {"nvidia", {{"f16", "tex3d", "f16"}}, {a53, 1}},
    {"nvidia", {{"f16", "tex3d", "f32"}}, {a54, 1}},
    {"nvidia", {{"f32", "buf", "f32"}}, {a55, 1}},
    {"nvidia", {{"f32", "tex3d", "f32"}}, {a56, 1}},
    {"nvidia-hopper", {{"f16", "buf", "f16"}}, {a100, 3}},
    {"nvidia-hopper", {{"f16", "buf", "f32"}}, {a118, 3}},
    {"nvidia-hopper", {{"f16", "tex3d", "f16"}}, {a126, 1}},
    {"nvidia-hopper", {{"f16", "tex3d", "f32"}}, {a137, 1}},
    {"nvidia-hopper", {{"f32", "buf", "f32"}}, {a149, 2}},
    {"nvidia-hopper", {{"f32", "tex3d", "f32"}}, {a162, 2}},
    {"swiftshader", {{"f32", "buf", "f32"}}, {a165, 1}},
    {"swiftshader", {{"f32", "tex3d", "f32"}}, {a167, 1}},
};
inline constexpr List<Section> sections{all_sections, 34};

inline constexpr DeviceRule all_device_rules[] = {
    {"apple-m1", "apple", {a168, 1}, {a169, 1}, {}, {a170, 1}, 0u},
    {"apple-m2", "apple", {a168, 1}, {a169, 1}, {}, {a171, 1}, 0u},
    {"apple-m3", "apple", {a168, 1}, {a169, 1}, {}, {a172, 1}, 0u},
    {"apple-m4", "apple", {a168, 1}, {a169, 1}, {}, {a173, 1}, 0u},
    {"apple-m5", "apple", {a168, 1}, {a169, 1}, {}, {a174, 1}, 0u},
    {"apple-mobile", "apple", {a168, 1}, {a169, 1}, {}, {a175, 2}, 0u},
    {"apple", "apple", {a168, 1}, {a169, 1}, {}, {}, 0u},
    {"lavapipe", "mesa", {a176, 1}, {}, {a177, 1}, {}, 0u},
    {"mesa", "mesa", {a176, 1}, {}, {}, {}, 0u},
    {"swiftshader", "google", {a178, 1}, {}, {a179, 1}, {}, 0u},
    {"google", "google", {a178, 1}, {}, {}, {}, 0u},
    {"adreno-702", "qualcomm", {a180, 1}, {}, {}, {a181, 2}, 0u},
    {"adreno-5xx", "qualcomm", {a180, 1}, {}, {}, {a182, 2}, 0u},
    {"adreno-6xx", "qualcomm", {a180, 1}, {}, {}, {a183, 2}, 0u},
    {"adreno-7xx", "qualcomm", {a180, 1}, {}, {}, {a184, 2}, 0u},
    {"adreno-8xx", "qualcomm", {a180, 1}, {}, {}, {a185, 2}, 0u},
    {"adreno-x1", "qualcomm", {a180, 1}, {}, {}, {a186, 3}, 0u},
    {"adreno-x2", "qualcomm", {a180, 1}, {}, {}, {a187, 3}, 0u},
    {"qualcomm", "qualcomm", {a180, 1}, {}, {}, {}, 0u},
    {"mali-midgard", "arm", {a188, 1}, {}, {}, {a189, 1}, 0u},
    {"mali-bifrost", "arm", {a188, 1}, {}, {}, {a190, 6}, 0u},
    {"mali-valhall", "arm", {a188, 1}, {}, {}, {a191, 10}, 0u},
    {"mali-5th-gen", "arm", {a188, 1}, {}, {}, {a192, 6}, 0u},
    {"arm", "arm", {a188, 1}, {}, {}, {}, 0u},
    {"powervr-rogue", "imagination", {a193, 1}, {}, {}, {a194, 1}, 0u},
    {"powervr-a", "imagination", {a193, 1}, {}, {}, {a195, 4}, 0u},
    {"powervr-b", "imagination", {a193, 1}, {}, {}, {a196, 5}, 0u},
    {"powervr-c", "imagination", {a193, 1}, {}, {}, {a197, 3}, 0u},
    {"powervr-d", "imagination", {a193, 1}, {}, {}, {a198, 3}, 0u},
    {"imagination", "imagination", {a193, 1}, {}, {}, {}, 0u},
    {"nvidia-blackwell-dc", "nvidia", {a199, 1}, {}, {}, {a200, 5}, 0u},
    {"nvidia-blackwell", "nvidia", {a199, 1}, {}, {}, {a201, 3}, 0u},
    {"nvidia-hopper", "nvidia", {a199, 1}, {}, {}, {a202, 5}, 0u},
    {"nvidia-orin", "nvidia", {a199, 1}, {}, {}, {a203, 1}, 0u},
    {"nvidia-ada", "nvidia", {a199, 1}, {}, {}, {a204, 7}, 0u},
    {"nvidia-ampere-dc", "nvidia", {a199, 1}, {}, {}, {a205, 3}, 0u},
    {"nvidia-ampere", "nvidia", {a199, 1}, {}, {}, {a206, 9}, 0u},
    {"nvidia-turing", "nvidia", {a199, 1}, {}, {}, {a207, 12}, 0u},
    {"nvidia-volta", "nvidia", {a199, 1}, {}, {}, {a208, 4}, 0u},
    {"nvidia-pascal", "nvidia", {a199, 1}, {}, {}, {a209, 11}, 0u},
    {"nvidia-maxwell", "nvidia", {a199, 1}, {}, {}, {a210, 5}, 0u},
    {"nvidia", "nvidia", {a199, 1}, {}, {}, {}, 0u},
    {"amd-cdna3", "amd", {a211, 1}, {}, {}, {a212, 4}, 0u},
    {"amd-cdna2", "amd", {a211, 1}, {}, {}, {a213, 2}, 0u},
    {"amd-cdna1", "amd", {a211, 1}, {}, {}, {a214, 3}, 0u},
    {"amd-rdna4", "amd", {a211, 1}, {}, {}, {a215, 4}, 0u},
    {"amd-rdna3.5", "amd", {a211, 1}, {}, {}, {a216, 4}, 0u},
    {"amd-rdna3", "amd", {a211, 1}, {}, {}, {a217, 6}, 0u},
    {"amd-rdna2", "amd", {a211, 1}, {}, {}, {a218, 8}, 0u},
    {"amd-rdna1", "amd", {a211, 1}, {}, {}, {a219, 4}, 0u},
    {"amd-gcn", "amd", {a211, 1}, {}, {}, {a220, 8}, 0u},
    {"amd-gcn-unnamed", "amd", {a211, 1}, {}, {a221, 1}, {}, 64u},
    {"amd", "amd", {a211, 1}, {}, {}, {}, 0u},
    {"xclipse-9xx", "samsung", {a222, 1}, {}, {}, {a223, 1}, 0u},
    {"xclipse-5xx", "samsung", {a222, 1}, {}, {}, {a224, 1}, 0u},
    {"samsung", "samsung", {a222, 1}, {}, {}, {}, 0u},
    {"intel-xe2", "intel", {a225, 1}, {}, {}, {a226, 6}, 0u},
    {"intel-alchemist", "intel", {a225, 1}, {}, {}, {a227, 3}, 0u},
    {"intel-xe-lpg", "intel", {a225, 1}, {}, {}, {a228, 4}, 0u},
    {"intel-xe-lp", "intel", {a225, 1}, {}, {}, {a229, 6}, 0u},
    {"intel-gen11", "intel", {a225, 1}, {}, {}, {a230, 3}, 0u},
    {"intel-gen9", "intel", {a225, 1}, {}, {}, {a231, 10}, 0u},
    {"intel", "intel", {a225, 1}, {}, {}, {}, 0u},
    {"v3d-4", "broadcom", {a232, 1}, {}, {}, {a233, 1}, 0u},
    {"v3d-7", "broadcom", {a232, 1}, {}, {}, {a234, 1}, 0u},
    {"broadcom", "broadcom", {a232, 1}, {}, {}, {}, 0u},
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

inline std::optional<Pick> dispatch(const Row& row, const Device& device, const Case& c) {
  if (!can_run(row, device)) return std::nullopt;
  Pick pick{&row, row.local, {0, 0, 0}};
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

// How weights are packed on this device for these channels. Sizes do not matter here.
inline std::optional<List<AxisValue>> pack(const Device& device, const Given& given, const Case& c) {
  const detail::Pack* found = detail::usable_pack(device, given, c);
  if (found == nullptr) return std::nullopt;
  return found->values;
}

// What to dispatch; nothing if the table has nothing that this device can run.
inline std::optional<Pick> select(const Device& device, const Given& given, const Case& c) {
  const detail::Pack* found = detail::usable_pack(device, given, c);
  if (found == nullptr) return std::nullopt;
  const Row* all = detail::rows.begin();
  for (const detail::Rule& rule : found->rules) {
    if (!detail::holds(rule.when, c)) continue;
    if (const auto pick = detail::dispatch(all[rule.row], device, c)) return pick;
    for (const std::size_t spare : rule.spares) {
      if (const auto pick = detail::dispatch(all[spare], device, c)) return pick;
    }
    break;
  }
  return detail::dispatch(all[found->fallback], device, c);
}

}  // namespace tilesmith::conv2d_pw
