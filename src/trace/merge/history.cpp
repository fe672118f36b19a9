// SPDX-License-Identifier: BSD-2-Clause
#include "trace/merge/history.h"

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// CLOCK_BOOTTIME can only be compared within one boot of one machine.
bool same_boot(const TraceOrigin& a, const TraceOrigin& b) {
  if (!a.boot_id.empty() && !b.boot_id.empty()) return a.boot_id == b.boot_id;
  return a.host == b.host && a.kernel == b.kernel;
}

bool any_overlap(const std::vector<TraceReader>& by_begin) {
  uint64_t end = 0;
  for (size_t i = 0; i < by_begin.size(); ++i) {
    if (i != 0 && by_begin[i].begin_ns() <= end) return true;
    end = std::max(end, by_begin[i].end_ns());
  }
  return false;
}

}  // namespace

Result<History> History::open(std::span<const std::filesystem::path> directories,
                              bool allow_unfinished) {
  auto shared = std::make_shared<std::vector<TraceReader>>();
  std::vector<TraceReader>& traces = *shared;
  for (const auto& directory : directories) {
    auto trace = TraceReader::open(directory, allow_unfinished);
    if (!trace) return propagate(trace);
    if (!traces.empty() && !same_boot(traces.front().manifest().origin, trace->manifest().origin))
      return fail(ExitCode::usage,
                  "{} and {} are of different machines or boots, so their times cannot be "
                  "compared: show them one by one",
                  traces.front().path().string(), trace->path().string());
    traces.push_back(std::move(*trace));
  }
  std::ranges::stable_sort(traces, {}, &TraceReader::begin_ns);
  History history(std::move(shared));
  history.overlapping_ = any_overlap(history.traces());
  return history;
}

History History::again() const {
  History history(traces_);
  history.overlapping_ = overlapping_;
  return history;
}

// Each stream delivers a packet when its previous one has been released, so the merger holds one
// packet of each. Its content is complete up to the earliest end of these packets.
bool History::read(MergeSink& sink) {
  begin_traces();
  refill();
  const uint64_t until = complete_until();
  if (overlapping_) deduplicator_.set_next(sink);
  merger_.release(until, overlapping_ ? static_cast<MergeSink&>(deduplicator_) : sink);
  released_until_ = until;
  return !streams_.empty() || begun_ < traces().size();
}

void History::begin_traces() {
  std::vector<TraceReader>& traces = *traces_;
  while (begun_ < traces.size() &&
         (streams_.empty() || traces[begun_].begin_ns() <= released_until_ + 1)) {
    for (PacketFile& file : traces[begun_].open_files())
      if (reads(file.cpu()))
        streams_.push_back({.source = static_cast<uint32_t>(begun_), .file = std::move(file)});
    ++begun_;
  }
}

bool History::reads(uint32_t cpu) const {
  return !cpus_ || std::ranges::binary_search(*cpus_, cpu);
}

uint64_t History::complete_until() const {
  uint64_t until = UINT64_MAX;
  for (const Stream& stream : streams_) until = std::min(until, stream.end_ns);
  if (begun_ < traces().size()) until = std::min(until, traces()[begun_].begin_ns() - 1);
  return until;
}

void History::refill() {
  std::erase_if(streams_, [this](Stream& stream) {
    return stream.end_ns <= released_until_ && !refill(stream);
  });
}

// False at the end of the file, or where it is damaged.
bool History::refill(Stream& stream) {
  auto packet = stream.file.next();
  if (packet && *packet) {
    ++packets_;
    merger_.push((*packet)->view, (*packet)->owner, stream.source);
    stream.end_ns = (*packet)->view.header().timestamp_end;
    return true;
  }
  (*traces_)[stream.source].check_end(stream.file, packet ? Result<>() : propagate(packet));
  return false;
}

Result<> History::verdict() const {
  constexpr size_t kShown = 4;
  std::string message;
  size_t count = 0;
  ExitCode code = ExitCode::data;
  for (const TraceReader& trace : traces())
    for (const Error& error : trace.damage()) {
      if (++count > kShown) continue;
      if (count == 1) code = error.code;
      message += (count == 1 ? "" : "; ") + error.message;
    }
  if (count == 0) return {};
  if (count > kShown) message += fmt::format("; and {} more", count - kShown);
  if (code == ExitCode::data)
    message += "; the intact parts are shown; if this is a copy, copy it again";
  return std::unexpected(Error{code, std::move(message)});
}

}  // namespace ktraced
