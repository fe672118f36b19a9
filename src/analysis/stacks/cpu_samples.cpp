// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/cpu_samples.h"

#include "analysis/coverage/event_fields.h"
#include "schema/names.h"

namespace ktraced {

CpuMode cpu_mode_of(uint64_t number) {
  return number < kCpuModes ? static_cast<CpuMode>(number) : CpuMode::unknown;
}

std::string_view name_of(CpuMode mode) {
  return mode == CpuMode::unknown ? "unknown" : sample_mode_name(static_cast<uint32_t>(mode));
}

void CpuSampleAnalysis::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back({EventTable<Plan>(schema,
                                       [](const Event& event) {
                                         return Plan{.is_sample = event.name == "cpu_sample",
                                                     .mode = field_named(event, "mode")};
                                       }),
                      &names});
}

void CpuSampleAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr || !plan->is_sample || !is_selected(from, record)) return;
  const CpuMode mode = cpu_mode_of(value_or_zero(plan->mode, record));
  ++cpus_[from.cpu][static_cast<size_t>(mode)];
  if (mode == CpuMode::idle) return;
  const StackPlace at = sums_.place_of(record, *source.names);
  if (mode == CpuMode::kernel_thread) sums_.note_kernel_thread(at.owner);
  const StackKey key{.at = at, .waker = {}, .what = static_cast<uint32_t>(mode)};
  const uint32_t row = sums_.row_of(key, record.ts());
  sums_.add({.ts = record.ts(), .row = row, .cpu = from.cpu}, {.count = 1});
}

void CpuSampleAnalysis::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan != nullptr && plan->is_sample && selects_loss(loss)) lost_ += loss.count;
}

ModeCounts CpuSampleAnalysis::modes() const {
  ModeCounts sum{};
  for (const auto& [cpu, counts] : cpus_)
    for (size_t mode = 0; mode < kCpuModes; ++mode) sum[mode] += counts[mode];
  return sum;
}

}  // namespace ktraced
