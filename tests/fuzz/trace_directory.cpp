// SPDX-License-Identifier: BSD-2-Clause
// A trace directory: manifest, names, symbols and packets. Everything that can be read is given in
// time order and within the bounds that the trace says; a manifest that is accepted prints and
// parses back equal; damage has a message.
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "fuzz/trace_files.h"
#include "trace/directory/manifest.h"
#include "trace/merge/history.h"

namespace ktraced::fuzz {
namespace {

class InOrder : public MergeSink {
 public:
  void on_record(const RecordOrigin& from, RecordView record) override {
    require(from.source == 0, "there is one trace");
    require(record.ts() >= last_, "records are in time order");
    require(record.bytes().size() >= sizeof(struct record), "a record has a header");
    last_ = record.ts();
  }
  void on_loss(const LossItem& loss) override {
    require(loss.ts >= last_, "losses are in time order");
    last_ = loss.ts;
  }

 private:
  uint64_t last_ = 0;
};

void check_manifest(const Manifest& manifest) {
  const nlohmann::json json = manifest_to_json(manifest);
  const auto again = manifest_from_json(json);
  require(again && manifest_to_json(*again) == json, "a manifest prints and parses back equal",
          again ? "" : again.error().message);
  require(manifest_summary_from_json(json).has_value(), "a manifest has a summary");
}

}  // namespace

void check_input(std::string_view input) {
  static TraceFiles files;
  files.write(input);
  const std::vector<std::filesystem::path> paths = {files.path()};
  auto history = History::open(paths);
  if (!history) return require_error(history.error(), ExitCode::data);
  check_manifest(history->traces().front().manifest());
  for (size_t i = 0; i < history->traces().size(); ++i) (void)history->extent(i);
  InOrder order;
  while (history->read(order)) {
  }
  for (const Error& damage : history->traces().front().damage()) require_message(damage);
  if (const auto verdict = history->verdict(); !verdict)
    require_error(verdict.error(), ExitCode::data);
}

}  // namespace ktraced::fuzz
