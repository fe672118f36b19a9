// SPDX-License-Identifier: BSD-2-Clause
// Exports for trace-cmd and KernelShark.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "ctl/exports/exporter.h"
#include "ctl/terminal/spool_file.h"
#include "decoders/tracedat/trace_dat_writer.h"

namespace ktraced {

// The file has the pages of one CPU after those of another, and begins with their sizes: pages are
// kept in temporary files until the end.
class TraceDatExporter : public Exporter {
 public:
  // `directory`: of the temporary files.
  TraceDatExporter(const History& history, std::vector<ExportChoice>& choices,
                   std::filesystem::path directory);

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  Result<> write(OutputTarget& target) override;
  Result<> finish(OutputTarget& target) override;
  [[nodiscard]] EventAccount total() const override {
    return {.records = total_.records - writer_.too_long(), .lost = total_.lost};
  }

 private:
  Result<> spool(size_t at_least);

  const History& history_;
  const std::vector<ExportChoice>& choices_;
  std::filesystem::path directory_;
  TraceDatWriter writer_;
  std::map<uint32_t, SpoolFile> spools_;  // of each CPU
  EventAccount total_;
};

}  // namespace ktraced
