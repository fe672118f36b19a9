// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_series.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/clock.h"
#include "base/files/host.h"
#include "daemon/output/retention.h"
#include "trace/directory/manifest_file.h"
#include "trace/metadata/kernel_text.h"
#include "trace/symbols/symbol_table.h"

namespace ktraced {
namespace {

constexpr std::string_view kPrefix = "stream-";  // of the names of traces
// How often to check whether the trace still exists.
constexpr uint64_t kCheckIntervalNs = 1'000'000'000;

void for_each_name(std::span<const std::byte> records, auto&& visit) {
  for (size_t at = 0; at < records.size();) {
    const RecordView record(records.data() + at);
    visit(record);
    at += record.bytes().size();
  }
}

std::optional<rec_metadata_task> as_task(const RecordView& record) {
  if (record.id() != METADATA_task) return std::nullopt;
  rec_metadata_task task;
  std::memcpy(&task, record.bytes().data(), sizeof(task));
  return task;
}

}  // namespace

OutputCounts& OutputCounts::operator+=(const OutputCounts& other) {
  written_bytes += other.written_bytes;
  traces += other.traces;
  evicted += other.evicted;
  write_errors += other.write_errors;
  return *this;
}

MissedReading read_missed(const TraceFacts& facts) {
  MissedReading reading{.from_ns = boottime_ns(), .until_ns = 0, .counts = facts.missed()};
  reading.until_ns = boottime_ns();
  return reading;
}

TraceSeries::TraceSeries(TraceFacts facts, BeginSeries begin)
    : facts_(std::move(facts)),
      store_(std::move(begin.settings.directory)),
      current_config_(std::move(begin.current_config)),
      begin_ns_(begin.begin_ns),
      complete_until_(begin.begin_ns),
      account_generation_(begin.account_generation),
      follow_lost_(begin.follow_lost),
      last_names_(std::move(begin.names)) {
  note_missed({.from_ns = 0, .until_ns = begin_ns_, .counts = std::move(begin.missed)});
}

Result<> TraceSeries::take(const PacketView& packet, uint32_t max_files) {
  if (auto begun = begin_trace(max_files); !begun) return begun;
  if (!mask_) return write(packet);
  const PacketBytes masked = mask_->masked(packet.bytes());
  return write(PacketView::of_built(masked));
}

Result<> TraceSeries::write(const PacketView& packet) {
  if (packet.is_metadata()) {
    add_names(packet);
    return {};
  }
  if (auto written = writer_->write(packet); !written) {
    check_still_there();
    return written;
  }
  continuity_.take(packet);
  return {};
}

void TraceSeries::add_names(const PacketView& packet) {
  packet.for_each_record([&](const RecordView& record) { writer_->add_names(record.bytes()); });
  complete_until_ = std::max(complete_until_, packet.header().timestamp_end);
  note_changes();
  if (boottime_ns() >= last_check_ns_ + kCheckIntervalNs) check_still_there();
}

// The manifest has the trace config at the trace's beginning, and the changes since then.
void TraceSeries::note_changes() {
  for (; !changes_.empty() && changes_.front().ns <= complete_until_; changes_.pop_front()) {
    current_config_ = std::move(changes_.front().current_config);
    manifest_.config["changes"].push_back(
        {{"ns", changes_.front().ns}, {"config", shown(*current_config_)}});
  }
}

nlohmann::json TraceSeries::shown(const nlohmann::json& config) const {
  return mask_ && mask_->hides_kernel() ? without_addresses(config) : config;
}

Result<> TraceSeries::begin_trace(uint32_t max_files) {
  if (writer_) return {};
  if (auto claimed = claim_directory(); !claimed) return claimed;
  if (auto made = make_room(max_files); !made) return made;
  if (auto room = store_.check_room(0); !room) return room;
  manifest_ = facts_.manifest();
  mask_ = facts_.mask ? facts_.mask(manifest_.schema) : nullptr;
  if (mask_ && mask_->hides_kernel())
    manifest_.schema = without_addresses(std::move(manifest_.schema));
  manifest_.config = shown(*current_config_);
  manifest_.kind = TraceKind::recording;
  manifest_.name = trace_name("stream", manifest_.taken_realtime_ns,
                              [&](const std::string& name) { return store_.taken(name); });
  manifest_.reason = "stream.output";
  manifest_.requested_by = "ktraced";
  auto store = open_shared_directory(store_.directory());
  if (!store) return propagate(store);
  auto writer = TraceWriter::create(
      store_.path_of(manifest_.name), manifest_.schema, manifest_.origin, is_kernel_text,
      written_time_in(store_.directory(), facts_.realtime), std::move(*store));
  if (!writer) return propagate(writer);
  writer_ = std::move(*writer);
  if (auto* account = this->account())
    account->begin_trace(account_generation_, store_.path_of(manifest_.name).string());
  ++files_;
  ++counts_.traces;
  last_check_ns_ = boottime_ns();
  add_first_names();
  // Names for readers of a trace whose daemon was killed. A failure is harmless.
  static_cast<void>(writer_->write_names());
  carried_bytes_ = bytes_of_trace(writer_->unfinished_path());
  return {};
}

// Unfinished traces of an earlier daemon are kept until they are the oldest.
Result<> TraceSeries::claim_directory() {
  if (auto claimed = store_.claim(); !claimed) return claimed;
  if (claimed_) return {};
  store_.finish_removals();
  const auto unfinished = store_.list_unfinished(kPrefix);
  const auto finished = store_.list(kPrefix);
  if (!unfinished) return std::unexpected(unfinished.error());
  if (!finished) return std::unexpected(finished.error());
  claimed_ = true;
  for (const StoredTrace& trace : *unfinished)
    spdlog::warn("{} was not finished by an earlier daemon: 'ktracectl show --partial' reads it",
                 store_.path_of(trace.name).string());
  note_lost_before(*unfinished, *finished);
  return {};
}

// What earlier daemons have read or recorded, and is not in their newest trace, is lost: of a
// daemon that was killed, and with objects that were replaced. If the account says how much, the
// stream begins with these losses. Both lists are sorted by age; names are not, when the clock has
// been set back.
void TraceSeries::note_lost_before(const std::vector<StoredTrace>& unfinished,
                                   const std::vector<StoredTrace>& finished) {
  const bool crashed =
      !unfinished.empty() &&
      (finished.empty() || finished.back().written_ns <= unfinished.back().written_ns);
  if (!crashed && finished.empty()) return;
  const std::string& newest = crashed ? unfinished.back().name : finished.back().name;
  const auto trace = TraceDirectory::open(store_.path_of(newest));
  const auto summary = trace ? read_manifest_summary(*trace) : Result<ManifestSummary>();
  if (!summary || summary->manifest.origin.boot_id != boot_id()) return;
  const bool own = summary->manifest.origin.uuid == facts_.manifest().origin.uuid;
  if (facts_.replaced && !own)
    for (std::string& loss : facts_.replaced()) add_problem(std::move(loss));
  const auto lost = facts_.lost_before ? facts_.lost_before() : std::nullopt;
  if (!crashed || lost == 0) return;
  add_problem(fmt::format(
      "{} lost between the end of {}, which an earlier daemon did not finish, and {:.6f} s after "
      "boot",
      lost ? fmt::format("{} events are", *lost) : "an unknown number of events is", newest,
      static_cast<double>(begin_ns_) / 1e9));
}

// Makes room for one more trace.
Result<> TraceSeries::make_room(uint32_t max_files) {
  auto listed = store_.list(kPrefix);
  if (!listed) return propagate(listed);
  auto unfinished = store_.list_unfinished(kPrefix);
  if (!unfinished) return propagate(unfinished);
  std::vector<StoredTrace> traces = std::move(*listed);
  for (StoredTrace& trace : *unfinished) traces.push_back(std::move(trace));
  std::erase_if(traces, &StoredTrace::has_other_files);
  files_ = traces.size();
  for (const std::string& name :
       superfluous(traces, {.max_count = max_files - 1, .max_bytes = UINT64_MAX}, "")) {
    if (auto removed = store_.remove_any(name); !removed) {
      spdlog::error("{}", removed.error().message);
      continue;
    }
    spdlog::info("removed {}: stream.output.max_files", store_.path_of(name).string());
    --files_;
    ++counts_.evicted;
  }
  return {};
}

std::vector<std::byte> TraceSeries::names_now() {
  auto names = facts_.names();
  return mask_ ? mask_->masked_metadata(names) : names;
}

// Adds the names known now, and those of the previous trace whose threads are still in the tables.
void TraceSeries::add_first_names() {
  const std::vector<std::byte> all = names_now();
  if (mask_) last_names_ = mask_->masked_metadata(last_names_);
  std::unordered_set<uint32_t> known;  // tids in the tables
  for_each_name(all, [&](const RecordView& record) {
    if (auto task = as_task(record)) known.insert(task->h.tid);
  });
  for_each_name(last_names_, [&](const RecordView& record) {
    const auto task = as_task(record);
    if (!task || known.contains(task->h.tid)) writer_->add_names(record.bytes());
  });
  writer_->add_names(all);
  last_names_.clear();
}

// Adds each problem once: some occur repeatedly.
void TraceSeries::add_problem(std::string problem) {
  if (std::ranges::find(problems_, problem) == problems_.end())
    problems_.push_back(std::move(problem));
}

void TraceSeries::skip(uint64_t until_ns, std::string_view why) {
  if (auto* account = this->account()) account->give_up(account_generation_);
  add_problem(fmt::format("its last records could not be written: {}", why));
  complete_until_ = std::max(complete_until_, until_ns);
  continuity_ = {};
}

void TraceSeries::move_to(std::filesystem::path directory) {
  store_ = TraceStore(std::move(directory));
  claimed_ = false;
}

// Another process may have removed the trace. Then nothing of it can be saved.
void TraceSeries::check_still_there() {
  last_check_ns_ = boottime_ns();
  std::error_code error;
  if (std::filesystem::exists(writer_->unfinished_path(), error) || error) return;
  // The trace has its final name, but the rename may not be on disk yet.
  if (store_.taken(manifest_.name)) return end_trace(complete_until_);
  const uint64_t records = writer_->total().records;
  spdlog::error("{} was removed while it was written: {} records are lost",
                writer_->unfinished_path().string(), records);
  removed_records_ += records;
  claimed_ = false;
  end_trace(complete_until_);
}

void TraceSeries::end_trace(uint64_t end_ns) {
  if (auto* account = this->account()) account->end_trace(account_generation_, *writer_);
  last_names_ = writer_->last_names();
  counts_.written_bytes += writer_->bytes();
  writer_.reset();
  begin_ns_ = end_ns + 1;
  problems_.clear();
  continuity_.clear_gaps();
}

Manifest TraceSeries::manifest() const {
  Manifest manifest = manifest_;
  manifest.begin_ns = begin_ns_;
  manifest.end_ns = std::max(complete_until_, begin_ns_);
  manifest.missed = missed_.within(begin_ns_, manifest.end_ns);
  manifest.incomplete_because = problems_;
  writer_->add_accounts(manifest, continuity_);
  return manifest;
}

std::map<uint64_t, std::string> TraceSeries::symbols() const {
  std::map<uint64_t, std::string> names;
  for (uint64_t shown : writer_->code_addresses()) {
    const uint64_t address = mask_ ? mask_->kernel_address(shown) : shown;
    add_symbols(shown, address, facts_.symbol, names);
  }
  return names;
}

// Adds what the kernel has counted during the trace.
void TraceSeries::add_shortfalls() {
  if (!missed_.read_since(complete_until_)) note_missed(read_missed(facts_));
  const uint64_t follow_lost = facts_.follow_lost();
  if (follow_lost > follow_lost_)
    add_problem(fmt::format("{} processes could not be followed", follow_lost - follow_lost_));
  follow_lost_ = follow_lost;
}

Result<> TraceSeries::finish_trace() {
  if (!writer_) return {};
  add_shortfalls();
  if (facts_.user_code) facts_.user_code(*writer_, real_start(mask_));
  const Manifest finished = manifest();
  const std::string path = store_.path_of(finished.name).string();
  if (auto done = writer_->finish(finished, symbols()); !done) {
    check_still_there();
    if (!writer_) return {};
    return done;
  }
  if (finished.complete())
    spdlog::info("wrote {}: {} records, complete", path, finished.total().records);
  else
    spdlog::warn("wrote {}: {} records, incomplete: {}", path, finished.total().records,
                 fmt::join(finished.incomplete_because, "; "));
  last_name_ = finished.name;
  end_trace(finished.end_ns);
  return {};
}

OutputCounts TraceSeries::counts() const {
  OutputCounts counts = counts_;
  counts.written_bytes += bytes();
  return counts;
}

void TraceSeries::end_account() {
  if (auto* account = this->account()) account->end(account_generation_);
}

std::optional<std::filesystem::path> TraceSeries::give_up() {
  if (!writer_) return std::nullopt;
  auto path = writer_->keep_unfinished();
  end_trace(complete_until_);
  return path;
}

}  // namespace ktraced
