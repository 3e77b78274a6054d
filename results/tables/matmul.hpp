// The dispatch table of kernel matmul. Written by `tilesmith table` from results;
// do not edit. Evidence and regret are in the JSON beside it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace tilesmith::matmul {

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
};

inline constexpr std::size_t n_given = 1;

constexpr std::array<std::string_view, n_given> given_values([[maybe_unused]] const Given& given) {
  return {{given.storage}};
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

inline constexpr AxisValue a0[] = {{"kstep", "16"}, {"tile", "1x4"}};
inline constexpr std::size_t a1[] = {3};
inline constexpr Term a2[] = {{{a1, 1}, 4u}};
inline constexpr std::size_t a3[] = {15, 8};
inline constexpr Term a4[] = {{{a3, 2}, 1u}};
inline constexpr std::size_t a5[] = {1};
inline constexpr Term a6[] = {{{a5, 1}, 1u}};
inline constexpr std::string_view a7[] = {"storageBuffer16BitAccess"};
inline constexpr AxisValue a8[] = {{"kstep", "4"}, {"tile", "1x4"}};
inline constexpr Range a9[] = {{1, 1, 1}, {2, 64, 104}, {3, 45, 64}, {6, 1, 1}, {8, 1, 8}, {9, 1, 1}, {10, 1, 1}, {11, 0, 0}, {12, 1, 1}, {15, 8, 37}};
inline constexpr Pack a10[] = {{{}, {}, {}, 1, {a9, 10}}};
inline constexpr Pack a11[] = {{{}, {}, {}, 3, {a9, 10}}};
inline constexpr Rule a12[] = {{{}, 0, {}, {a9, 10}}};
inline constexpr Pack a13[] = {{{}, {}, {a12, 1}, 1, {a9, 10}}};
inline constexpr Rule a14[] = {{{}, 2, {}, {a9, 10}}};
inline constexpr Pack a15[] = {{{}, {}, {a14, 1}, 3, {a9, 10}}};
inline constexpr std::uint32_t a16[] = {4203};
inline constexpr std::uint32_t a17[] = {26};
inline constexpr std::string_view a18[] = {"m1"};
inline constexpr std::string_view a19[] = {"m2"};
inline constexpr std::string_view a20[] = {"m3"};
inline constexpr std::string_view a21[] = {"m4"};
inline constexpr std::string_view a22[] = {"m5"};
inline constexpr std::string_view a23[] = {"a1#", "a2#"};
inline constexpr std::uint32_t a24[] = {65541};
inline constexpr std::uint32_t a25[] = {13};
inline constexpr std::uint32_t a26[] = {6880};
inline constexpr std::uint32_t a27[] = {10};
inline constexpr std::uint32_t a28[] = {20803};
inline constexpr std::string_view a29[] = {"adreno (tm) 702", "adreno(tm) 702"};
inline constexpr std::string_view a30[] = {"adreno (tm) 5##", "adreno(tm) 5##"};
inline constexpr std::string_view a31[] = {"adreno (tm) 6##", "adreno(tm) 6##"};
inline constexpr std::string_view a32[] = {"adreno (tm) 7##", "adreno(tm) 7##"};
inline constexpr std::string_view a33[] = {"adreno (tm) 8##", "adreno(tm) 8##"};
inline constexpr std::string_view a34[] = {"adreno(tm) x1", "adreno (tm) x1", "x1-##"};
inline constexpr std::string_view a35[] = {"adreno(tm) x2", "adreno (tm) x2", "x2-##"};
inline constexpr std::uint32_t a36[] = {5045};
inline constexpr std::string_view a37[] = {"mali-t###"};
inline constexpr std::string_view a38[] = {"g71", "g72", "g76", "g31", "g51", "g52"};
inline constexpr std::string_view a39[] = {"g57", "g68", "g77", "g78", "g310", "g510", "g610", "g710", "g615", "g715"};
inline constexpr std::string_view a40[] = {"g620", "g720", "g625", "g725", "g925", "mali-g1"};
inline constexpr std::uint32_t a41[] = {4112};
inline constexpr std::string_view a42[] = {"rogue"};
inline constexpr std::string_view a43[] = {"a-series", "axe", "axm", "axt"};
inline constexpr std::string_view a44[] = {"b-series", "bxe", "bxm", "bxs", "bxt"};
inline constexpr std::string_view a45[] = {"c-series", "cxt", "cxm"};
inline constexpr std::string_view a46[] = {"d-series", "dxt", "dxd"};
inline constexpr std::uint32_t a47[] = {4318};
inline constexpr std::string_view a48[] = {"b100", "b200", "b300", "gb200", "gb300"};
inline constexpr std::string_view a49[] = {"rtx 50##", "blackwell", "gb10"};
inline constexpr std::string_view a50[] = {"h100", "h200", "h800", "h20", "gh200"};
inline constexpr std::string_view a51[] = {"orin"};
inline constexpr std::string_view a52[] = {"rtx 40##", "ada generation", "ada", "l4", "l40", "l20", "l2"};
inline constexpr std::string_view a53[] = {"a100", "a800", "a30"};
inline constexpr std::string_view a54[] = {"rtx 30##", "rtx a####", "rtx a###", "rtx 2050", "a10", "a10g", "a16", "a40", "a2"};
inline constexpr std::string_view a55[] = {"rtx 20##", "gtx 16##", "mx4##", "mx5##", "t4", "t4g", "t4##", "t6##", "t1000", "t2000", "quadro rtx", "titan rtx"};
inline constexpr std::string_view a56[] = {"v100", "gv100", "titan v", "xavier"};
inline constexpr std::string_view a57[] = {"gtx 10##", "gt 10##", "mx1##", "mx2##", "mx3##", "p100", "p40", "p4", "quadro p####", "titan x", "titan xp"};
inline constexpr std::string_view a58[] = {"gtx 9##", "gtx 7##", "quadro m####", "m40", "m60"};
inline constexpr std::uint32_t a59[] = {4098};
inline constexpr std::string_view a60[] = {"mi3##", "mi3##a", "mi3##x", "gfx94#"};
inline constexpr std::string_view a61[] = {"mi2##", "gfx90a"};
inline constexpr std::string_view a62[] = {"mi100", "arcturus", "gfx908"};
inline constexpr std::string_view a63[] = {"rx 9###", "navi4#", "gfx120#", "r9###"};
inline constexpr std::string_view a64[] = {"gfx115#", "8##m", "8###s", "strix"};
inline constexpr std::string_view a65[] = {"rx 7###", "navi3#", "gfx110#", "phoenix", "7##m", "w7###"};
inline constexpr std::string_view a66[] = {"rx 6###", "navi2#", "gfx103#", "rembrandt", "vangogh", "raphael", "6##m", "w6###"};
inline constexpr std::string_view a67[] = {"rx 5###", "navi1#", "gfx101#", "w5###"};
inline constexpr std::string_view a68[] = {"vega", "vega##", "polaris##", "renoir", "raven", "raven2", "rx 4##", "rx 5##"};
inline constexpr std::uint32_t a69[] = {3};
inline constexpr std::uint32_t a70[] = {5197};
inline constexpr std::string_view a71[] = {"xclipse 9##"};
inline constexpr std::string_view a72[] = {"xclipse 5##"};
inline constexpr std::uint32_t a73[] = {32902};
inline constexpr std::string_view a74[] = {"arc(tm) b###", "arc b###", "bmg", "lnl", "lunar lake", "arc(tm) 1##v"};
inline constexpr std::string_view a75[] = {"arc(tm) a###", "arc a###", "dg2"};
inline constexpr std::string_view a76[] = {"mtl", "arl", "arc(tm) graphics", "meteor lake"};
inline constexpr std::string_view a77[] = {"tgl", "iris(r) xe", "dg1", "adl", "rpl", "uhd graphics 7##"};
inline constexpr std::string_view a78[] = {"icl", "jsl", "ehl"};
inline constexpr std::string_view a79[] = {"skl", "kbl", "cfl", "cml", "glk", "apl", "bxt", "hd graphics 5##", "hd graphics 6##", "iris plus"};
inline constexpr std::uint32_t a80[] = {5348};
inline constexpr std::string_view a81[] = {"v3d 4"};
inline constexpr std::string_view a82[] = {"v3d 7"};

inline constexpr Row all_rows[] = {
    {"matmul_f16_1x4_16", {a0, 2}, {32u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a6, 1}}}, {a7, 1}, "97fb71c19450d5a0"},
    {"matmul_f16_1x4_4", {a8, 2}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a6, 1}}}, {a7, 1}, "24b2a05fdcbd4bc2"},
    {"matmul_f32_1x4_16", {a0, 2}, {4u, 16u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a6, 1}}}, {}, "f0075f333ad760ba"},
    {"matmul_f32_1x4_4", {a8, 2}, {8u, 8u, 1u}, true, {{List<Term>{a2, 1}, List<Term>{a4, 1}, List<Term>{a6, 1}}}, {}, "93c6a5b3882d2319"},
};
inline constexpr List<Row> rows{all_rows, 4};

inline constexpr Section all_sections[] = {
    {"any", {{"f16"}}, {a10, 1}},
    {"any", {{"f32"}}, {a11, 1}},
    {"nvidia", {{"f16"}}, {a10, 1}},
    {"nvidia", {{"f32"}}, {a11, 1}},
    {"nvidia-hopper", {{"f16"}}, {a13, 1}},
    {"nvidia-hopper", {{"f32"}}, {a15, 1}},
};
inline constexpr List<Section> sections{all_sections, 6};

inline constexpr DeviceRule all_device_rules[] = {
    {"apple-m1", "apple", {a16, 1}, {a17, 1}, {}, {a18, 1}, 0u},
    {"apple-m2", "apple", {a16, 1}, {a17, 1}, {}, {a19, 1}, 0u},
    {"apple-m3", "apple", {a16, 1}, {a17, 1}, {}, {a20, 1}, 0u},
    {"apple-m4", "apple", {a16, 1}, {a17, 1}, {}, {a21, 1}, 0u},
    {"apple-m5", "apple", {a16, 1}, {a17, 1}, {}, {a22, 1}, 0u},
    {"apple-mobile", "apple", {a16, 1}, {a17, 1}, {}, {a23, 2}, 0u},
    {"apple", "apple", {a16, 1}, {a17, 1}, {}, {}, 0u},
    {"lavapipe", "mesa", {a24, 1}, {}, {a25, 1}, {}, 0u},
    {"mesa", "mesa", {a24, 1}, {}, {}, {}, 0u},
    {"swiftshader", "google", {a26, 1}, {}, {a27, 1}, {}, 0u},
    {"google", "google", {a26, 1}, {}, {}, {}, 0u},
    {"adreno-702", "qualcomm", {a28, 1}, {}, {}, {a29, 2}, 0u},
    {"adreno-5xx", "qualcomm", {a28, 1}, {}, {}, {a30, 2}, 0u},
    {"adreno-6xx", "qualcomm", {a28, 1}, {}, {}, {a31, 2}, 0u},
    {"adreno-7xx", "qualcomm", {a28, 1}, {}, {}, {a32, 2}, 0u},
    {"adreno-8xx", "qualcomm", {a28, 1}, {}, {}, {a33, 2}, 0u},
    {"adreno-x1", "qualcomm", {a28, 1}, {}, {}, {a34, 3}, 0u},
    {"adreno-x2", "qualcomm", {a28, 1}, {}, {}, {a35, 3}, 0u},
    {"qualcomm", "qualcomm", {a28, 1}, {}, {}, {}, 0u},
    {"mali-midgard", "arm", {a36, 1}, {}, {}, {a37, 1}, 0u},
    {"mali-bifrost", "arm", {a36, 1}, {}, {}, {a38, 6}, 0u},
    {"mali-valhall", "arm", {a36, 1}, {}, {}, {a39, 10}, 0u},
    {"mali-5th-gen", "arm", {a36, 1}, {}, {}, {a40, 6}, 0u},
    {"arm", "arm", {a36, 1}, {}, {}, {}, 0u},
    {"powervr-rogue", "imagination", {a41, 1}, {}, {}, {a42, 1}, 0u},
    {"powervr-a", "imagination", {a41, 1}, {}, {}, {a43, 4}, 0u},
    {"powervr-b", "imagination", {a41, 1}, {}, {}, {a44, 5}, 0u},
    {"powervr-c", "imagination", {a41, 1}, {}, {}, {a45, 3}, 0u},
    {"powervr-d", "imagination", {a41, 1}, {}, {}, {a46, 3}, 0u},
    {"imagination", "imagination", {a41, 1}, {}, {}, {}, 0u},
    {"nvidia-blackwell-dc", "nvidia", {a47, 1}, {}, {}, {a48, 5}, 0u},
    {"nvidia-blackwell", "nvidia", {a47, 1}, {}, {}, {a49, 3}, 0u},
    {"nvidia-hopper", "nvidia", {a47, 1}, {}, {}, {a50, 5}, 0u},
    {"nvidia-orin", "nvidia", {a47, 1}, {}, {}, {a51, 1}, 0u},
    {"nvidia-ada", "nvidia", {a47, 1}, {}, {}, {a52, 7}, 0u},
    {"nvidia-ampere-dc", "nvidia", {a47, 1}, {}, {}, {a53, 3}, 0u},
    {"nvidia-ampere", "nvidia", {a47, 1}, {}, {}, {a54, 9}, 0u},
    {"nvidia-turing", "nvidia", {a47, 1}, {}, {}, {a55, 12}, 0u},
    {"nvidia-volta", "nvidia", {a47, 1}, {}, {}, {a56, 4}, 0u},
    {"nvidia-pascal", "nvidia", {a47, 1}, {}, {}, {a57, 11}, 0u},
    {"nvidia-maxwell", "nvidia", {a47, 1}, {}, {}, {a58, 5}, 0u},
    {"nvidia", "nvidia", {a47, 1}, {}, {}, {}, 0u},
    {"amd-cdna3", "amd", {a59, 1}, {}, {}, {a60, 4}, 0u},
    {"amd-cdna2", "amd", {a59, 1}, {}, {}, {a61, 2}, 0u},
    {"amd-cdna1", "amd", {a59, 1}, {}, {}, {a62, 3}, 0u},
    {"amd-rdna4", "amd", {a59, 1}, {}, {}, {a63, 4}, 0u},
    {"amd-rdna3.5", "amd", {a59, 1}, {}, {}, {a64, 4}, 0u},
    {"amd-rdna3", "amd", {a59, 1}, {}, {}, {a65, 6}, 0u},
    {"amd-rdna2", "amd", {a59, 1}, {}, {}, {a66, 8}, 0u},
    {"amd-rdna1", "amd", {a59, 1}, {}, {}, {a67, 4}, 0u},
    {"amd-gcn", "amd", {a59, 1}, {}, {}, {a68, 8}, 0u},
    {"amd-gcn-unnamed", "amd", {a59, 1}, {}, {a69, 1}, {}, 64u},
    {"amd", "amd", {a59, 1}, {}, {}, {}, 0u},
    {"xclipse-9xx", "samsung", {a70, 1}, {}, {}, {a71, 1}, 0u},
    {"xclipse-5xx", "samsung", {a70, 1}, {}, {}, {a72, 1}, 0u},
    {"samsung", "samsung", {a70, 1}, {}, {}, {}, 0u},
    {"intel-xe2", "intel", {a73, 1}, {}, {}, {a74, 6}, 0u},
    {"intel-alchemist", "intel", {a73, 1}, {}, {}, {a75, 3}, 0u},
    {"intel-xe-lpg", "intel", {a73, 1}, {}, {}, {a76, 4}, 0u},
    {"intel-xe-lp", "intel", {a73, 1}, {}, {}, {a77, 6}, 0u},
    {"intel-gen11", "intel", {a73, 1}, {}, {}, {a78, 3}, 0u},
    {"intel-gen9", "intel", {a73, 1}, {}, {}, {a79, 10}, 0u},
    {"intel", "intel", {a73, 1}, {}, {}, {}, 0u},
    {"v3d-4", "broadcom", {a80, 1}, {}, {}, {a81, 1}, 0u},
    {"v3d-7", "broadcom", {a80, 1}, {}, {}, {a82, 1}, 0u},
    {"broadcom", "broadcom", {a80, 1}, {}, {}, {}, 0u},
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

// Whether the kernel computes such a case: kernel_h == 1 and kernel_w == 1 and groups == 1 and stride == 1 and padding == 0.
constexpr bool accepts([[maybe_unused]] const Case& c) {
  return ((c.kernel_h == std::int64_t{1}) && (c.kernel_w == std::int64_t{1}) && (c.groups == std::int64_t{1}) && (c.stride == std::int64_t{1}) && (c.padding == std::int64_t{0}));
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

}  // namespace tilesmith::matmul
