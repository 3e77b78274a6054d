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
inline constexpr AxisValue a9[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "flat"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr Term a10[] = {{{a1, 1}, 8u}};
inline constexpr std::size_t a11[] = {15, 8};
inline constexpr Term a12[] = {{{a11, 2}, 8u}};
inline constexpr Term a13[] = {{{a6, 1}, 1u}};
inline constexpr AxisValue a14[] = {{"bounds", "guarded"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "1x1x4"}, {"weights", "tex2d"}};
inline constexpr Term a15[] = {{{a11, 2}, 1u}};
inline constexpr AxisValue a16[] = {{"bounds", "clamped_kcheck"}, {"kstep", "8"}, {"pixels", "block"}, {"tile", "4x1x4"}, {"weights", "tex2d"}};
inline constexpr Term a17[] = {{{a3, 1}, 4u}};
inline constexpr std::string_view a18[] = {"storageBuffer16BitAccess"};
inline constexpr AxisValue a19[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "4x2x8"}, {"weights", "tex2d"}};
inline constexpr AxisValue a20[] = {{"bounds", "clamped"}, {"kstep", "8"}, {"pixels", "flat"}, {"tile", "1x1x4"}, {"weights", "buf"}};
inline constexpr AxisValue a21[] = {{"bounds", "clamped_kcheck"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "4x1x4"}, {"weights", "buf"}};
inline constexpr Term a22[] = {{{a11, 2}, 4u}};
inline constexpr AxisValue a23[] = {{"bounds", "guarded"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr Term a24[] = {{{a5, 1}, 2u}, {{a6, 1}, 1u}};
inline constexpr AxisValue a25[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a26[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "2x2x8"}, {"weights", "buf"}};
inline constexpr AxisValue a27[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "1x1x4"}, {"weights", "tex2d"}};
inline constexpr AxisValue a28[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "flat"}, {"tile", "2x2x8"}, {"weights", "tex2d"}};
inline constexpr AxisValue a29[] = {{"bounds", "clamped"}, {"kstep", "4"}, {"pixels", "block"}, {"tile", "4x2x8"}, {"weights", "tex2d"}};
inline constexpr AxisValue a30[] = {{"weights", "tex2d"}};
inline constexpr Pack a31[] = {{{}, {a30, 1}, {}, 2}};
inline constexpr Pack a32[] = {{{}, {a30, 1}, {}, 5}};
inline constexpr Pack a33[] = {{{}, {a30, 1}, {}, 10}};
inline constexpr Pack a34[] = {{{}, {a30, 1}, {}, 12}};
inline constexpr Pack a35[] = {{{}, {a30, 1}, {}, 15}};
inline constexpr Pack a36[] = {{{}, {a30, 1}, {}, 18}};
inline constexpr std::size_t a37[] = {15, 8, 1};
inline constexpr Condition a38[] = {{{a37, 3}, true, 17u}};
inline constexpr Condition a39[] = {{{a37, 3}, false, 17u}};
inline constexpr std::size_t a40[] = {2};
inline constexpr Condition a41[] = {{{a40, 1}, true, 25u}};
inline constexpr AxisValue a42[] = {{"weights", "buf"}};
inline constexpr Rule a43[] = {{{a38, 1}, 1, {}}, {{a39, 1}, 0, {}}};
inline constexpr Condition a44[] = {{{a40, 1}, false, 25u}};
inline constexpr Rule a45[] = {{{}, 3, {}}};
inline constexpr Pack a46[] = {{{a41, 1}, {a42, 1}, {a43, 2}, 0}, {{a44, 1}, {a30, 1}, {a45, 1}, 2}};
inline constexpr Condition a47[] = {{{a1, 1}, true, 21u}};
inline constexpr Rule a48[] = {{{}, 6, {}}};
inline constexpr Condition a49[] = {{{a1, 1}, false, 21u}};
inline constexpr Rule a50[] = {{{}, 4, {}}};
inline constexpr Pack a51[] = {{{a47, 1}, {a30, 1}, {a48, 1}, 5}, {{a49, 1}, {a42, 1}, {a50, 1}, 4}};
inline constexpr Condition a52[] = {{{a37, 3}, true, 129u}};
inline constexpr Condition a53[] = {{{a37, 3}, true, 9u}, {{a37, 3}, false, 129u}};
inline constexpr Condition a54[] = {{{a37, 3}, false, 9u}};
inline constexpr Rule a55[] = {{{a52, 1}, 9, {}}, {{a53, 2}, 8, {}}, {{a54, 1}, 7, {}}};
inline constexpr Pack a56[] = {{{}, {a42, 1}, {a55, 3}, 8}};
inline constexpr Rule a57[] = {{{}, 11, {}}};
inline constexpr Rule a58[] = {{{}, 12, {}}};
inline constexpr Pack a59[] = {{{a47, 1}, {a42, 1}, {a57, 1}, 11}, {{a49, 1}, {a30, 1}, {a58, 1}, 12}};
inline constexpr Rule a60[] = {{{a38, 1}, 16, {}}, {{a39, 1}, 14, {}}};
inline constexpr Rule a61[] = {{{}, 13, {}}};
inline constexpr Pack a62[] = {{{a41, 1}, {a30, 1}, {a60, 2}, 15}, {{a44, 1}, {a42, 1}, {a61, 1}, 13}};
inline constexpr Condition a63[] = {{{a37, 3}, true, 9u}};
inline constexpr Rule a64[] = {{{a63, 1}, 20, {}}, {{a54, 1}, 17, {}}};
inline constexpr Pack a65[] = {{{}, {a30, 1}, {a64, 2}, 18}};
inline constexpr std::size_t a66[] = {14};
inline constexpr Rule a67[] = {{{a63, 1}, 16, {a66, 1}}, {{a54, 1}, 14, {}}};
inline constexpr Pack a68[] = {{{}, {a30, 1}, {a67, 2}, 15}};
inline constexpr Rule a69[] = {{{a63, 1}, 19, {}}, {{a54, 1}, 17, {}}};
inline constexpr Pack a70[] = {{{}, {a30, 1}, {a69, 2}, 18}};
inline constexpr std::uint32_t a71[] = {4203};
inline constexpr std::uint32_t a72[] = {26};
inline constexpr std::string_view a73[] = {"m1"};
inline constexpr std::string_view a74[] = {"m2"};
inline constexpr std::string_view a75[] = {"m3"};
inline constexpr std::string_view a76[] = {"m4"};
inline constexpr std::string_view a77[] = {"m5"};
inline constexpr std::string_view a78[] = {"a1#", "a2#"};
inline constexpr std::uint32_t a79[] = {65541};
inline constexpr std::uint32_t a80[] = {13};
inline constexpr std::uint32_t a81[] = {6880};
inline constexpr std::uint32_t a82[] = {10};
inline constexpr std::uint32_t a83[] = {20803};
inline constexpr std::string_view a84[] = {"adreno (tm) 702", "adreno(tm) 702"};
inline constexpr std::string_view a85[] = {"adreno (tm) 5##", "adreno(tm) 5##"};
inline constexpr std::string_view a86[] = {"adreno (tm) 6##", "adreno(tm) 6##"};
inline constexpr std::string_view a87[] = {"adreno (tm) 7##", "adreno(tm) 7##"};
inline constexpr std::string_view a88[] = {"adreno (tm) 8##", "adreno(tm) 8##"};
inline constexpr std::string_view a89[] = {"adreno(tm) x1", "adreno (tm) x1", "x1-##"};
inline constexpr std::string_view a90[] = {"adreno(tm) x2", "adreno (tm) x2", "x2-##"};
inline constexpr std::uint32_t a91[] = {5045};
inline constexpr std::string_view a92[] = {"mali-t###"};
inline constexpr std::string_view a93[] = {"g71", "g72", "g76", "g31", "g51", "g52"};
inline constexpr std::string_view a94[] = {"g57", "g68", "g77", "g78", "g310", "g510", "g610", "g710", "g615", "g715"};
inline constexpr std::string_view a95[] = {"g620", "g720", "g625", "g725", "g925", "mali-g1"};
inline constexpr std::uint32_t a96[] = {4112};
inline constexpr std::string_view a97[] = {"rogue"};
inline constexpr std::string_view a98[] = {"a-series", "axe", "axm", "axt"};
inline constexpr std::string_view a99[] = {"b-series", "bxe", "bxm", "bxs", "bxt"};
inline constexpr std::string_view a100[] = {"c-series", "cxt", "cxm"};
inline constexpr std::string_view a101[] = {"d-series", "dxt", "dxd"};
inline constexpr std::uint32_t a102[] = {4318};
inline constexpr std::string_view a103[] = {"b100", "b200", "b300", "gb200", "gb300"};
inline constexpr std::string_view a104[] = {"rtx 50##", "blackwell", "gb10"};
inline constexpr std::string_view a105[] = {"h100", "h200", "h800", "h20", "gh200"};
inline constexpr std::string_view a106[] = {"orin"};
inline constexpr std::string_view a107[] = {"rtx 40##", "ada generation", "ada", "l4", "l40", "l20", "l2"};
inline constexpr std::string_view a108[] = {"a100", "a800", "a30"};
inline constexpr std::string_view a109[] = {"rtx 30##", "rtx a####", "rtx a###", "rtx 2050", "a10", "a10g", "a16", "a40", "a2"};
inline constexpr std::string_view a110[] = {"rtx 20##", "gtx 16##", "mx4##", "mx5##", "t4", "t4g", "t4##", "t6##", "t1000", "t2000", "quadro rtx", "titan rtx"};
inline constexpr std::string_view a111[] = {"v100", "gv100", "titan v", "xavier"};
inline constexpr std::string_view a112[] = {"gtx 10##", "gt 10##", "mx1##", "mx2##", "mx3##", "p100", "p40", "p4", "quadro p####", "titan x", "titan xp"};
inline constexpr std::string_view a113[] = {"gtx 9##", "gtx 7##", "quadro m####", "m40", "m60"};
inline constexpr std::uint32_t a114[] = {4098};
inline constexpr std::string_view a115[] = {"mi3##", "mi3##a", "mi3##x", "gfx94#"};
inline constexpr std::string_view a116[] = {"mi2##", "gfx90a"};
inline constexpr std::string_view a117[] = {"mi100", "arcturus", "gfx908"};
inline constexpr std::string_view a118[] = {"rx 9###", "navi4#", "gfx120#", "r9###"};
inline constexpr std::string_view a119[] = {"gfx115#", "8##m", "8###s", "strix"};
inline constexpr std::string_view a120[] = {"rx 7###", "navi3#", "gfx110#", "phoenix", "7##m", "w7###"};
inline constexpr std::string_view a121[] = {"rx 6###", "navi2#", "gfx103#", "rembrandt", "vangogh", "raphael", "6##m", "w6###"};
inline constexpr std::string_view a122[] = {"rx 5###", "navi1#", "gfx101#", "w5###"};
inline constexpr std::string_view a123[] = {"vega", "vega##", "polaris##", "renoir", "raven", "raven2", "rx 4##", "rx 5##"};
inline constexpr std::uint32_t a124[] = {3};
inline constexpr std::uint32_t a125[] = {5197};
inline constexpr std::string_view a126[] = {"xclipse 9##"};
inline constexpr std::string_view a127[] = {"xclipse 5##"};
inline constexpr std::uint32_t a128[] = {32902};
inline constexpr std::string_view a129[] = {"arc(tm) b###", "arc b###", "bmg", "lnl", "lunar lake", "arc(tm) 1##v"};
inline constexpr std::string_view a130[] = {"arc(tm) a###", "arc a###", "dg2"};
inline constexpr std::string_view a131[] = {"mtl", "arl", "arc(tm) graphics", "meteor lake"};
inline constexpr std::string_view a132[] = {"tgl", "iris(r) xe", "dg1", "adl", "rpl", "uhd graphics 7##"};
inline constexpr std::string_view a133[] = {"icl", "jsl", "ehl"};
inline constexpr std::string_view a134[] = {"skl", "kbl", "cfl", "cml", "glk", "apl", "bxt", "hd graphics 5##", "hd graphics 6##", "iris plus"};
inline constexpr std::uint32_t a135[] = {5348};
inline constexpr std::string_view a136[] = {"v3d 4"};
inline constexpr std::string_view a137[] = {"v3d 7"};

inline constexpr Row all_rows[] = {
    {"conv2d_pw_f16_buf_f16_buf_1x1x4_block_8_clamped", {a0, 5}, {16u, 4u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a8, 2}, "5f5d1b6ea61145da"},
    {"conv2d_pw_f16_buf_f16_buf_4x2x8_flat_8_clamped_kcheck", {a9, 5}, {16u, 8u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a12, 1}, List<Term>{a13, 1}}}, {a8, 2}, "86995fadc64e34c8"},
    {"conv2d_pw_f16_buf_f16_tex2d_1x1x4_flat_4_guarded", {a14, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a15, 1}, List<Term>{a13, 1}}}, {a8, 2}, "5ee22028482fbc00"},
    {"conv2d_pw_f16_buf_f16_tex2d_4x1x4_block_8_clamped_kcheck", {a16, 5}, {32u, 4u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a17, 1}, List<Term>{a7, 2}}}, {a8, 2}, "41568f1bc63cc0a0"},
    {"conv2d_pw_f16_buf_f32_buf_1x1x4_block_8_clamped", {a0, 5}, {64u, 1u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {a18, 1}, "aa6c8ebb1a955d4b"},
    {"conv2d_pw_f16_buf_f32_tex2d_1x1x4_flat_4_guarded", {a14, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a15, 1}, List<Term>{a13, 1}}}, {a18, 1}, "e3235f4d95fa9e80"},
    {"conv2d_pw_f16_buf_f32_tex2d_4x2x8_flat_4_clamped", {a19, 5}, {32u, 4u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a12, 1}, List<Term>{a13, 1}}}, {a18, 1}, "881880bd94171295"},
    {"conv2d_pw_f16_tex3d_f16_buf_1x1x4_flat_8_clamped", {a20, 5}, {16u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a15, 1}, List<Term>{a13, 1}}}, {a8, 2}, "a4069f38ead50508"},
    {"conv2d_pw_f16_tex3d_f16_buf_4x1x4_flat_4_clamped_kcheck", {a21, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a22, 1}, List<Term>{a13, 1}}}, {a8, 2}, "3f9b3181a4343133"},
    {"conv2d_pw_f16_tex3d_f16_buf_4x2x8_block_4_guarded", {a23, 5}, {8u, 8u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a17, 1}, List<Term>{a24, 2}}}, {a8, 2}, "d6147da23ee903a5"},
    {"conv2d_pw_f16_tex3d_f16_tex2d_1x1x4_flat_4_guarded", {a14, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a15, 1}, List<Term>{a13, 1}}}, {a8, 2}, "dbd3b4e74dff81d7"},
    {"conv2d_pw_f16_tex3d_f32_buf_4x2x8_block_4_clamped", {a25, 5}, {32u, 2u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a17, 1}, List<Term>{a24, 2}}}, {a18, 1}, "cd9337c7f3f4f1e5"},
    {"conv2d_pw_f16_tex3d_f32_tex2d_1x1x4_flat_4_guarded", {a14, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a15, 1}, List<Term>{a13, 1}}}, {a18, 1}, "7741f9736d0e0b44"},
    {"conv2d_pw_f32_buf_f32_buf_2x2x8_flat_4_clamped", {a26, 5}, {64u, 8u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a22, 1}, List<Term>{a13, 1}}}, {}, "35ecd8bc89325f16"},
    {"conv2d_pw_f32_buf_f32_tex2d_1x1x4_block_4_clamped", {a27, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "dfebf1e66f4521fa"},
    {"conv2d_pw_f32_buf_f32_tex2d_1x1x4_flat_4_guarded", {a14, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a15, 1}, List<Term>{a13, 1}}}, {}, "070977388a4f2f91"},
    {"conv2d_pw_f32_buf_f32_tex2d_2x2x8_flat_4_clamped", {a28, 5}, {32u, 8u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a22, 1}, List<Term>{a13, 1}}}, {}, "df9ac3945d70608c"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_1x1x4_block_4_clamped", {a27, 5}, {16u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a7, 2}}}, {}, "ddb35d76c201a552"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_1x1x4_flat_4_guarded", {a14, 5}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a15, 1}, List<Term>{a13, 1}}}, {}, "c233d375dff190ab"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_4x2x8_block_4_clamped", {a29, 5}, {4u, 16u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a17, 1}, List<Term>{a24, 2}}}, {}, "dcdd8a19cfda6e79"},
    {"conv2d_pw_f32_tex3d_f32_tex2d_4x2x8_block_4_clamped", {a29, 5}, {8u, 16u, 1u}, true, {{List<Term>{a10, 1}, List<Term>{a17, 1}, List<Term>{a24, 2}}}, {}, "dcdd8a19cfda6e79"},
};
inline constexpr List<Row> rows{all_rows, 21};

inline constexpr Section all_sections[] = {
    {"any", {{"f16", "buf", "f16"}}, {a31, 1}},
    {"any", {{"f16", "buf", "f32"}}, {a32, 1}},
    {"any", {{"f16", "tex3d", "f16"}}, {a33, 1}},
    {"any", {{"f16", "tex3d", "f32"}}, {a34, 1}},
    {"any", {{"f32", "buf", "f32"}}, {a35, 1}},
    {"any", {{"f32", "tex3d", "f32"}}, {a36, 1}},
    {"google", {{"f32", "buf", "f32"}}, {a35, 1}},
    {"google", {{"f32", "tex3d", "f32"}}, {a36, 1}},
    {"lavapipe", {{"f16", "buf", "f16"}}, {a46, 2}},
    {"lavapipe", {{"f16", "buf", "f32"}}, {a51, 2}},
    {"lavapipe", {{"f16", "tex3d", "f16"}}, {a56, 1}},
    {"lavapipe", {{"f16", "tex3d", "f32"}}, {a59, 2}},
    {"lavapipe", {{"f32", "buf", "f32"}}, {a62, 2}},
    {"lavapipe", {{"f32", "tex3d", "f32"}}, {a65, 1}},
    {"mesa", {{"f16", "buf", "f16"}}, {a31, 1}},
    {"mesa", {{"f16", "buf", "f32"}}, {a32, 1}},
    {"mesa", {{"f16", "tex3d", "f16"}}, {a33, 1}},
    {"mesa", {{"f16", "tex3d", "f32"}}, {a34, 1}},
    {"mesa", {{"f32", "buf", "f32"}}, {a35, 1}},
    {"mesa", {{"f32", "tex3d", "f32"}}, {a36, 1}},
    {"swiftshader", {{"f32", "buf", "f32"}}, {a68, 1}},
    {"swiftshader", {{"f32", "tex3d", "f32"}}, {a70, 1}},
};
inline constexpr List<Section> sections{all_sections, 22};

inline constexpr DeviceRule all_device_rules[] = {
    {"apple-m1", "apple", {a71, 1}, {a72, 1}, {}, {a73, 1}, 0u},
    {"apple-m2", "apple", {a71, 1}, {a72, 1}, {}, {a74, 1}, 0u},
    {"apple-m3", "apple", {a71, 1}, {a72, 1}, {}, {a75, 1}, 0u},
    {"apple-m4", "apple", {a71, 1}, {a72, 1}, {}, {a76, 1}, 0u},
    {"apple-m5", "apple", {a71, 1}, {a72, 1}, {}, {a77, 1}, 0u},
    {"apple-mobile", "apple", {a71, 1}, {a72, 1}, {}, {a78, 2}, 0u},
    {"apple", "apple", {a71, 1}, {a72, 1}, {}, {}, 0u},
    {"lavapipe", "mesa", {a79, 1}, {}, {a80, 1}, {}, 0u},
    {"mesa", "mesa", {a79, 1}, {}, {}, {}, 0u},
    {"swiftshader", "google", {a81, 1}, {}, {a82, 1}, {}, 0u},
    {"google", "google", {a81, 1}, {}, {}, {}, 0u},
    {"adreno-702", "qualcomm", {a83, 1}, {}, {}, {a84, 2}, 0u},
    {"adreno-5xx", "qualcomm", {a83, 1}, {}, {}, {a85, 2}, 0u},
    {"adreno-6xx", "qualcomm", {a83, 1}, {}, {}, {a86, 2}, 0u},
    {"adreno-7xx", "qualcomm", {a83, 1}, {}, {}, {a87, 2}, 0u},
    {"adreno-8xx", "qualcomm", {a83, 1}, {}, {}, {a88, 2}, 0u},
    {"adreno-x1", "qualcomm", {a83, 1}, {}, {}, {a89, 3}, 0u},
    {"adreno-x2", "qualcomm", {a83, 1}, {}, {}, {a90, 3}, 0u},
    {"qualcomm", "qualcomm", {a83, 1}, {}, {}, {}, 0u},
    {"mali-midgard", "arm", {a91, 1}, {}, {}, {a92, 1}, 0u},
    {"mali-bifrost", "arm", {a91, 1}, {}, {}, {a93, 6}, 0u},
    {"mali-valhall", "arm", {a91, 1}, {}, {}, {a94, 10}, 0u},
    {"mali-5th-gen", "arm", {a91, 1}, {}, {}, {a95, 6}, 0u},
    {"arm", "arm", {a91, 1}, {}, {}, {}, 0u},
    {"powervr-rogue", "imagination", {a96, 1}, {}, {}, {a97, 1}, 0u},
    {"powervr-a", "imagination", {a96, 1}, {}, {}, {a98, 4}, 0u},
    {"powervr-b", "imagination", {a96, 1}, {}, {}, {a99, 5}, 0u},
    {"powervr-c", "imagination", {a96, 1}, {}, {}, {a100, 3}, 0u},
    {"powervr-d", "imagination", {a96, 1}, {}, {}, {a101, 3}, 0u},
    {"imagination", "imagination", {a96, 1}, {}, {}, {}, 0u},
    {"nvidia-blackwell-dc", "nvidia", {a102, 1}, {}, {}, {a103, 5}, 0u},
    {"nvidia-blackwell", "nvidia", {a102, 1}, {}, {}, {a104, 3}, 0u},
    {"nvidia-hopper", "nvidia", {a102, 1}, {}, {}, {a105, 5}, 0u},
    {"nvidia-orin", "nvidia", {a102, 1}, {}, {}, {a106, 1}, 0u},
    {"nvidia-ada", "nvidia", {a102, 1}, {}, {}, {a107, 7}, 0u},
    {"nvidia-ampere-dc", "nvidia", {a102, 1}, {}, {}, {a108, 3}, 0u},
    {"nvidia-ampere", "nvidia", {a102, 1}, {}, {}, {a109, 9}, 0u},
    {"nvidia-turing", "nvidia", {a102, 1}, {}, {}, {a110, 12}, 0u},
    {"nvidia-volta", "nvidia", {a102, 1}, {}, {}, {a111, 4}, 0u},
    {"nvidia-pascal", "nvidia", {a102, 1}, {}, {}, {a112, 11}, 0u},
    {"nvidia-maxwell", "nvidia", {a102, 1}, {}, {}, {a113, 5}, 0u},
    {"nvidia", "nvidia", {a102, 1}, {}, {}, {}, 0u},
    {"amd-cdna3", "amd", {a114, 1}, {}, {}, {a115, 4}, 0u},
    {"amd-cdna2", "amd", {a114, 1}, {}, {}, {a116, 2}, 0u},
    {"amd-cdna1", "amd", {a114, 1}, {}, {}, {a117, 3}, 0u},
    {"amd-rdna4", "amd", {a114, 1}, {}, {}, {a118, 4}, 0u},
    {"amd-rdna3.5", "amd", {a114, 1}, {}, {}, {a119, 4}, 0u},
    {"amd-rdna3", "amd", {a114, 1}, {}, {}, {a120, 6}, 0u},
    {"amd-rdna2", "amd", {a114, 1}, {}, {}, {a121, 8}, 0u},
    {"amd-rdna1", "amd", {a114, 1}, {}, {}, {a122, 4}, 0u},
    {"amd-gcn", "amd", {a114, 1}, {}, {}, {a123, 8}, 0u},
    {"amd-gcn-unnamed", "amd", {a114, 1}, {}, {a124, 1}, {}, 64u},
    {"amd", "amd", {a114, 1}, {}, {}, {}, 0u},
    {"xclipse-9xx", "samsung", {a125, 1}, {}, {}, {a126, 1}, 0u},
    {"xclipse-5xx", "samsung", {a125, 1}, {}, {}, {a127, 1}, 0u},
    {"samsung", "samsung", {a125, 1}, {}, {}, {}, 0u},
    {"intel-xe2", "intel", {a128, 1}, {}, {}, {a129, 6}, 0u},
    {"intel-alchemist", "intel", {a128, 1}, {}, {}, {a130, 3}, 0u},
    {"intel-xe-lpg", "intel", {a128, 1}, {}, {}, {a131, 4}, 0u},
    {"intel-xe-lp", "intel", {a128, 1}, {}, {}, {a132, 6}, 0u},
    {"intel-gen11", "intel", {a128, 1}, {}, {}, {a133, 3}, 0u},
    {"intel-gen9", "intel", {a128, 1}, {}, {}, {a134, 10}, 0u},
    {"intel", "intel", {a128, 1}, {}, {}, {}, 0u},
    {"v3d-4", "broadcom", {a135, 1}, {}, {}, {a136, 1}, 0u},
    {"v3d-7", "broadcom", {a135, 1}, {}, {}, {a137, 1}, 0u},
    {"broadcom", "broadcom", {a135, 1}, {}, {}, {}, 0u},
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
