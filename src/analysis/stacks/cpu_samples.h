// SPDX-License-Identifier: BSD-2-Clause
// Samples of CPUs: what they did, at which stacks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/stacks/stack_sums.h"
#include "bpf/records.h"

namespace ktraced {

// What a CPU did at a sample.
enum class CpuMode : uint8_t {
  unknown,
  user = SAMPLE_USER,
  kernel = SAMPLE_KERNEL,
  idle = SAMPLE_IDLE,
  guest = SAMPLE_GUEST,
  kernel_thread = SAMPLE_KERNEL_THREAD,
};
inline constexpr size_t kCpuModes = SAMPLE_KERNEL_THREAD + 1;
// As sample_mode_name(); "unknown" for a mode of a later version.
[[nodiscard]] std::string_view name_of(CpuMode mode);

// The mode that a sample has as a number.
[[nodiscard]] CpuMode cpu_mode_of(uint64_t number);

using ModeCounts = std::array<uint64_t, kCpuModes>;  // by CpuMode

// Counts the selected cpu_sample. Those of idle CPUs have no row. The mode is StackKey::what.
class CpuSampleAnalysis : public Analysis {
 public:
  explicit CpuSampleAnalysis(StacksBy by) : sums_(by) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;

  // See StackSums::keep_points().
  void keep_points(size_t max) { sums_.keep_points(max); }
  [[nodiscard]] const StackSums& sums() const { return sums_; }
  [[nodiscard]] const std::map<uint32_t, ModeCounts>& cpus() const { return cpus_; }
  [[nodiscard]] ModeCounts modes() const;
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  struct Plan {
    bool is_sample = false;
    std::optional<Field> mode;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };

  std::vector<Source> sources_;
  StackSums sums_;
  std::map<uint32_t, ModeCounts> cpus_;  // by number
  uint64_t lost_ = 0;
};

}  // namespace ktraced
