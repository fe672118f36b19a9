// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_rings.h"

#include <bit>

#include "bpf/shared_state.h"

namespace ktraced {
namespace {

constexpr uint32_t kBufferKbMin = 64, kStreamKbMax = 1U << 20,
                   kFlightKbMax = FLIGHT_BYTES_MAX >> 10;
constexpr std::string_view kWhyFlightKbMax =
    "the kernel's verifier lets a BPF program reach no farther than 512 MiB into a map";
constexpr uint32_t kLatencyMsMax = 10'000;
constexpr uint32_t kBanksMin = 2, kBanksMax = 8;
constexpr uint32_t kFilesMax = 100'000;
constexpr uint32_t kMegabytesMax = 1U << 30;

void read_number(const ConfigNode& node, std::string_view key, uint32_t min, uint32_t max,
                 uint32_t& value) {
  if (auto member = node.member(key)) value = member->number(min, max).value_or(value);
}

void read_buffer_kb(const ConfigNode& node, uint32_t max, std::string_view why, uint32_t& value) {
  auto member = node.member("buffer_kb");
  auto size = member ? member->number(kBufferKbMin, max, why) : std::nullopt;
  if (!size) return;
  if (!std::has_single_bit(*size))
    member->problem("must be a power of two, such as {} or {}, not {}", std::bit_floor(*size),
                    std::bit_ceil(*size), *size);
  value = *size;
}

void read_path(const ConfigNode& node, std::string_view key, std::filesystem::path& value) {
  if (auto member = node.member(key)) value = read_directory(*member).value_or(value);
}

void read_output(const ConfigNode& node, std::optional<StreamOutput>& value) {
  if (!node.object({"directory", "max_file_mb", "max_files"})) return;
  StreamOutput output;
  if (!node.member("directory"))
    node.problem("must have \"directory\", where the traces are written");
  read_path(node, "directory", output.directory);
  read_number(node, "max_file_mb", 1, kMegabytesMax, output.max_file_mb);
  read_number(node, "max_files", 1, kFilesMax, output.max_files);
  value = std::move(output);
}

}  // namespace

std::optional<std::filesystem::path> read_directory(const ConfigNode& node) {
  auto text = node.text();
  if (!text) return std::nullopt;
  if (!text->starts_with('/') || std::filesystem::path(*text).lexically_normal() == "/") {
    node.problem("must be the absolute path of a directory");
    return std::nullopt;
  }
  return *text;
}

void read_stream(const ConfigNode& node, Config& config) {
  if (!node.object({"buffer_kb", "max_latency_ms", "output"})) return;
  read_buffer_kb(node, kStreamKbMax, {}, config.stream.buffer_kb);
  read_number(node, "max_latency_ms", 1, kLatencyMsMax, config.stream.max_latency_ms);
  if (auto output = node.member("output")) read_output(*output, config.stream.output);
}

void read_flight(const ConfigNode& node, Config& config) {
  if (!node.object({"enabled", "buffer_kb", "banks", "directory", "max_snapshots", "max_total_mb"}))
    return;
  FlightConfig& flight = config.flight;
  if (auto enabled = node.member("enabled"))
    flight.enabled = enabled->boolean().value_or(flight.enabled);
  read_buffer_kb(node, kFlightKbMax, kWhyFlightKbMax, flight.buffer_kb);
  read_number(node, "banks", kBanksMin, kBanksMax, flight.banks);
  read_path(node, "directory", flight.directory);
  read_number(node, "max_snapshots", 1, kFilesMax, flight.max_snapshots);
  read_number(node, "max_total_mb", 1, kMegabytesMax, flight.max_total_mb);
}

}  // namespace ktraced
