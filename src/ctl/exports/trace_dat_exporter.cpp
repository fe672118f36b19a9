// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/exports/trace_dat_exporter.h"

#include "base/print_stderr.h"

namespace ktraced {

namespace {

std::vector<TraceDatSource> sources_of(const History& history, std::vector<ExportChoice>& choices) {
  std::vector<TraceDatSource> sources;
  for (size_t i = 0; i < choices.size(); ++i) {
    const TraceReader& trace = history.traces()[i];
    sources.push_back({.sources = {trace.schema(), trace.names(), &choices[i].symbols},
                       .manifest = trace.manifest()});
  }
  return sources;
}

}  // namespace

TraceDatExporter::TraceDatExporter(const History& history, std::vector<ExportChoice>& choices,
                                   std::filesystem::path directory)
    : history_(history),
      choices_(choices),
      directory_(std::move(directory)),
      writer_(sources_of(history, choices)) {}

void TraceDatExporter::on_record(const RecordOrigin& from, RecordView record) {
  const NameTable& names = history_.traces()[from.source].names();
  if (!choices_[from.source].selection.wants(from.cpu, record, names)) return;
  writer_.on_record(from, record);
  ++total_.records;
}

void TraceDatExporter::on_loss(const LossItem& loss) {
  if (!choices_[loss.source].selection.wants_loss(loss.cpu, loss.event_id)) return;
  writer_.on_loss(loss);
  total_.lost += loss.count;
}

Result<> TraceDatExporter::spool(size_t at_least) {
  if (writer_.refused_cpu())
    return fail(ExitCode::data, "CPU {} cannot be in a trace.dat: its number is above {}",
                *writer_.refused_cpu(), TraceDatWriter::kMaxCpus - 1);
  for (auto& [cpu, pages] : writer_.cpus()) {
    if (pages.out().size() < at_least) continue;
    auto found = spools_.find(cpu);
    if (found == spools_.end()) {
      auto made = SpoolFile::create(directory_);
      if (!made) return propagate(made);
      found = spools_.emplace(cpu, std::move(*made)).first;
    }
    if (auto written = found->second.append(pages.out()); !written) return written;
    pages.out().clear();
  }
  return {};
}

Result<> TraceDatExporter::write(OutputTarget& /*target*/) {
  return spool(RingBufferPages::kPageBytes);
}

Result<> TraceDatExporter::finish(OutputTarget& target) {
  writer_.finish();
  if (const uint64_t count = writer_.too_long(); count != 0)
    print_stderr("ktracectl: {} events do not fit into a page of trace.dat: marked as lost there\n",
                 count);
  if (auto spooled = spool(1); !spooled) return spooled;
  std::map<uint32_t, uint64_t> bytes;
  for (const auto& [cpu, spool] : spools_) bytes[cpu] = spool.bytes();
  if (auto written = target.write(writer_.header(bytes)); !written) return written;
  while (!spools_.empty()) {
    if (auto copied = spools_.begin()->second.copy_to(target); !copied) return copied;
    spools_.erase(spools_.begin());  // frees its space
  }
  return {};
}

}  // namespace ktraced
