// Answers queries, one a line on stdin, from the emitted C++ table.
#include "table.hpp"

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace table = tilesmith::conv2d_pw;

static std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

static std::array<std::uint32_t, 3> triple(const std::string& text) {
  const auto parts = split(text, ',');
  return {static_cast<std::uint32_t>(std::stoul(parts[0])), static_cast<std::uint32_t>(std::stoul(parts[1])),
          static_cast<std::uint32_t>(std::stoul(parts[2]))};
}

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto fields = split(line, '\t');
    const auto feature_texts = split(fields[5], ',');
    const std::vector<std::string_view> features(feature_texts.begin(), feature_texts.end());
    table::Device device;
    if (fields[0] != "-") device.device_class = fields[0];
    device.vendor_id = static_cast<std::uint32_t>(std::stoul(fields[1]));
    device.driver_id = static_cast<std::uint32_t>(std::stoul(fields[2]));
    device.name = fields[3];
    device.subgroup_size = static_cast<std::uint32_t>(std::stoul(fields[4]));
    device.features = features.data();
    device.n_features = features.size();
    device.max_invocations = static_cast<std::uint32_t>(std::stoul(fields[6]));
    device.max_local_size = triple(fields[7]);
    device.max_group_count = triple(fields[8]);
    table::Given given;
    given.storage = fields[9];
    given.act = fields[10];
    given.acc = fields[11];
    const auto values = split(fields[12], ',');
    table::Case c;
    c.c_in = std::stoll(values[0]);
    c.c_out = std::stoll(values[1]);
    c.h_out = std::stoll(values[2]);
    c.w_out = std::stoll(values[3]);
    c.batch = std::stoll(values[4]);
    c.kernel_h = std::stoll(values[5]);
    c.kernel_w = std::stoll(values[6]);
    c.groups = std::stoll(values[7]);
    c.stride = std::stoll(values[8]);

    std::string answer;
    if (const auto pack = table::pack(device, given, c)) {
      for (const auto& value : *pack) {
        if (!answer.empty()) answer += ',';
        answer += std::string(value.axis) + "=" + std::string(value.value);
      }
    } else {
      answer = "none";
    }
    if (const auto pick = table::select(device, given, c)) {
      const auto& l = pick->local;
      const auto& g = pick->groups;
      std::printf("%s %s [%u, %u, %u] [%u, %u, %u] %s\n", answer.c_str(), std::string(pick->row->variant).c_str(), l[0],
                  l[1], l[2], g[0], g[1], g[2], pick->is_measured ? "true" : "false");
    } else {
      std::printf("%s none\n", answer.c_str());
    }
  }
  return 0;
}
