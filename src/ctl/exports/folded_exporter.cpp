// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/exports/folded_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "analysis/coverage/event_fields.h"
#include "analysis/stacks/cpu_samples.h"
#include "analysis/stacks/stack_names.h"
#include "decoders/symbols/frame_namer.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

// A semicolon separates two functions.
std::string folded_text(std::string_view text) {
  std::string out = printable(text);
  std::ranges::replace(out, ';', ':');
  return out;
}

std::string owner_text(const StackOwner& owner) {
  if (owner.others) return "(others)";
  if (owner.known && owner.pid == 0) return "swapper";
  if (owner.comm.empty()) return fmt::format("(thread {})", owner.pid);
  return folded_text(owner.comm);
}

}  // namespace

FoldedExporter::FoldedExporter(const History& history, std::vector<ExportChoice>& choices,
                               const TraceStacks& stacks, FrameNames& files, bool by_event)
    : history_(history), choices_(choices), stacks_(stacks), files_(files), by_event_(by_event) {
  for (const TraceReader& trace : history.traces()) {
    const Event* sample = trace.schema().find("cpu_sample");
    sample_ids_.push_back(sample != nullptr ? sample->id : uint16_t{0});
    modes_.push_back(sample != nullptr ? field_named(*sample, "mode") : std::nullopt);
  }
}

void FoldedExporter::on_record(const RecordOrigin& from, RecordView record) {
  const NameTable& names = history_.traces()[from.source].names();
  if (!takes(from.source, record.id())) return;
  if (!choices_[from.source].selection.wants(from.cpu, record, names)) return;
  CpuMode mode = CpuMode::unknown;
  if (record.id() == sample_ids_[from.source])
    mode = cpu_mode_of(value_or_zero(modes_[from.source], record));
  if (mode == CpuMode::idle) return;
  const StackKey key{
      .at = sums_.place_of(record, names), .waker = {}, .what = static_cast<uint32_t>(mode)};
  sums_[sums_.row_of(key, record.ts())].weight += {.count = 1};
  ++total_.records;
}

void FoldedExporter::on_loss(const LossItem& loss) {
  if (takes(loss.source, loss.event_id) &&
      choices_[loss.source].selection.wants_loss(loss.cpu, loss.event_id))
    total_.lost += loss.count;
}

std::string_view FoldedExporter::symbol_at(uint64_t address) {
  for (ExportChoice& choice : choices_)
    if (const auto symbol = choice.symbols.resolve(address); !symbol.empty()) return symbol;
  return {};
}

Result<> FoldedExporter::finish(OutputTarget& target) {
  StackNames names(stacks_,
                   frame_namer([this](uint64_t address) { return symbol_at(address); }, files_));
  std::map<std::string, uint64_t> lines;
  for (const StackRow& row : sums_.rows()) {
    std::string line = row.others ? "(others)" : owner_text(sums_.owners()[row.key.at.owner]);
    if (!row.others)
      for (const uint32_t frame : names.texts_of(row.key.at, row.ts) | std::views::reverse)
        line += ";" + folded_text(names.text(frame).function);
    if (static_cast<CpuMode>(row.key.what) == CpuMode::guest) line += ";[guest]";
    lines[line] += row.weight.count;
  }
  ends_ = ends_of(sums_.rows(), names);
  std::string text;
  for (const auto& [line, count] : lines) text += fmt::format("{} {}\n", line, count);
  return target.write(text);
}

}  // namespace ktraced
