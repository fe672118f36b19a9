// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/files/host.h"
#include "trace/metadata/event_records.h"
#include "trace/symbols/build_ids.h"

namespace ktraced {

namespace {

TraceOrigin origin_of(const StreamInfo& info) {
  return {.uuid = info.uuid,
          .host = host_name(),
          .kernel = info.kernel,
          .clock_offset_ns =
              static_cast<int64_t>(info.realtime_ns) - static_cast<int64_t>(info.boottime_ns),
          .boot_id = boot_id()};
}

std::map<uint64_t, std::string> resolve(const std::set<uint64_t>& addresses,
                                        RemoteSymbols::Call call) {
  RemoteSymbols symbols(std::move(call));
  std::map<uint64_t, std::string> names;
  for (auto next = addresses.begin(); next != addresses.end();) {
    auto first = next;
    for (size_t i = 0; i < RemoteSymbols::kMaxPerCall && next != addresses.end(); ++i)
      symbols.request(*next++);
    symbols.fetch();
    for (; first != next; ++first)
      for (const uint64_t address : {*first, *first - 1})
        if (auto name = symbols.resolve(address); !name.empty()) names.emplace(address, name);
  }
  return names;
}

}  // namespace

Recorder::Recorder(std::filesystem::path path, const LiveSource& source,
                   std::unique_ptr<TraceWriter> writer)
    : path_(std::move(path)),
      source_(source),
      origin_(origin_of(source.info())),
      writer_(std::move(writer)) {}

Result<Recorder> Recorder::create(const std::filesystem::path& path, const LiveSource& source) {
  if (source.info().uuid == Uuid{} || source.info().boottime_ns == 0)
    return fail(ExitCode::data, "ktraced does not report which trace its stream belongs to");
  auto writer =
      TraceWriter::create(path, source.schema(), origin_of(source.info()), is_kernel_text);
  if (!writer) return propagate(writer);
  return Recorder(path, source, std::move(*writer));
}

Result<> Recorder::take(const PacketView& packet) {
  const PacketHeader& header = packet.header();
  if (!packet.is_metadata()) {
    if (header.uuid != origin_.uuid)
      return fail(ExitCode::data, "the stream holds a packet of another trace");
    continuity_.take(packet);
    return writer_->write(packet);
  }
  packet.for_each_record([&](const RecordView& record) {
    take_config(record);
    writer_->add_names(record.bytes());
  });
  complete_until_ = std::max(complete_until_, header.timestamp_end);
  return {};
}

void Recorder::take_config(RecordView record) {
  auto config = config_reader_.take(record);
  if (!config) return;
  if (record.ts() <= source_.info().boottime_ns)
    config_ = std::move(*config);
  else
    config_["changes"].push_back({{"ns", record.ts()}, {"config", std::move(*config)}});
}

Manifest Recorder::manifest(const std::string& reason) const {
  Manifest manifest;
  manifest.kind = TraceKind::recording;
  manifest.name = path_.filename();
  manifest.reason = reason;
  manifest.requested_by = fmt::format("pid {} (uid {})", ::getpid(), ::getuid());
  manifest.origin = origin_;
  manifest.begin_ns = source_.info().boottime_ns;
  manifest.end_ns = std::max(complete_until_, manifest.begin_ns);
  manifest.taken_realtime_ns = clock_ns(CLOCK_REALTIME);
  manifest.missed = missed_;
  manifest.filtered = filtered_;
  manifest.incomplete_because = problems_;
  writer_->add_accounts(manifest, continuity_);
  manifest.config = config_.is_null() ? nlohmann::json::object() : config_;
  manifest.schema = source_.schema();
  return manifest;
}

Result<Manifest> Recorder::finish(const std::string& reason, RemoteSymbols::Call symbols) {
  missing_names_ = add_user_code(BuildIds(), *writer_);
  Manifest finished = manifest(reason);
  auto done = writer_->finish(finished, resolve(writer_->code_addresses(), std::move(symbols)));
  if (!done) return propagate(done);
  return finished;
}

}  // namespace ktraced
