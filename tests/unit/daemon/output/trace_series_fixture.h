// SPDX-License-Identifier: BSD-2-Clause
// A series of traces, and what it asks the tracer for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "daemon/output/trace_series.h"
#include "trace/directory/trace_reader.h"
#include "trace/packet/packet_builder.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {

// Writes traces below a temporary directory.
class TraceSeriesTest : public testing::Test {
 protected:
  static constexpr Uuid kUuid{1, 2, 3};  // of FakeDrain

  TraceFacts facts() {
    return {.manifest =
                [] {
                  Manifest manifest;
                  manifest.origin.uuid = kUuid;
                  return manifest;
                },
            .current_config = nullptr,
            .missed = [this] { return missed; },
            .follow_lost = [this] { return follow_lost; },
            .names = [this] { return names; },
            .symbol = [](uint64_t) { return std::nullopt; },
            .lost_before = [this] { return lost_before; },
            .replaced = [this] { return replaced; },
            .mask = [this](const Schema&) { return mask; }};
  }
  TraceSeries series(uint64_t begin_ns = 100) {
    return {facts(),
            {.settings = {.directory = directory()},
             .begin_ns = begin_ns,
             .missed = missed,
             .current_config =
                 std::make_shared<const nlohmann::json>(nlohmann::json{{"state", "running"}}),
             .names = names}};
  }
  std::filesystem::path directory() const { return root.path() / "d"; }

  static Result<> take(TraceSeries& series, const PacketBytes& packet, uint32_t max_files = 100) {
    return series.take(PacketView::parse(*packet).value(), max_files);
  }
  static void take_all(TraceSeries& series, const std::vector<PacketBytes>& batch,
                       uint32_t max_files = 100) {
    for (const PacketBytes& packet : batch) ASSERT_TRUE(take(series, packet, max_files));
  }
  static PacketBytes metadata_packet(uint64_t until, const std::vector<std::byte>& records = {}) {
    return build_metadata_packet(kUuid, 0, until, records);
  }

  // The manifests of the complete traces, oldest first.
  std::vector<Manifest> manifests() const {
    std::vector<Manifest> all;
    for (const StoredTrace& trace : std::vector(TraceStore(directory()).list().value()))
      all.push_back(TraceReader::open(directory() / trace.name).value().manifest());
    std::ranges::sort(all, {}, &Manifest::begin_ns);
    return all;
  }

  TempDirectory root;
  HitCounts missed;
  uint64_t follow_lost = 0;
  std::vector<std::byte> names;
  std::shared_ptr<AddressMask> mask;
  std::optional<uint64_t> lost_before;
  std::vector<std::string> replaced;
};

}  // namespace ktraced::test
