// SPDX-License-Identifier: BSD-2-Clause
// Exports for programs that draw flame graphs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/stacks/stack_sums.h"
#include "analysis/stacks/trace_stacks.h"
#include "ctl/exports/exporter.h"
#include "decoders/symbols/frame_names.h"

namespace ktraced {

// A line for each stack: the name of the process and the functions, the outermost first, with
// semicolons between them, and the number of events. Of samples, those of idle CPUs are left out.
class FoldedExporter : public Exporter {
 public:
  // Of the samples of CPUs or, if `by_event`, of all selected events. `stacks` and
  // `files` must outlive this.
  FoldedExporter(const History& history, std::vector<ExportChoice>& choices,
                 const TraceStacks& stacks, FrameNames& files, bool by_event);

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  Result<> write(OutputTarget& /*target*/) override { return {}; }
  Result<> finish(OutputTarget& target) override;
  [[nodiscard]] EventAccount total() const override { return total_; }
  [[nodiscard]] const StackEnds* stack_ends() const override { return &ends_; }

 private:
  [[nodiscard]] bool takes(uint32_t source, uint32_t event) const {
    return by_event_ || (sample_ids_[source] != 0 && event == sample_ids_[source]);
  }
  std::string_view symbol_at(uint64_t address);

  const History& history_;
  std::vector<ExportChoice>& choices_;
  const TraceStacks& stacks_;
  FrameNames& files_;
  bool by_event_;
  std::vector<uint16_t> sample_ids_;         // of each trace, the number of cpu_sample; 0: none
  std::vector<std::optional<Field>> modes_;  // of each trace, in cpu_sample
  StackSums sums_{StacksBy::process};
  EventAccount total_;
  StackEnds ends_;
};

}  // namespace ktraced
