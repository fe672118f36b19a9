// SPDX-License-Identifier: BSD-2-Clause
#include "trace/merge/history.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "trace/merge/window_sink.h"

namespace ktraced {
namespace {

// CLOCK_BOOTTIME can only be compared within one boot of one machine.
bool same_boot(const TraceOrigin& a, const TraceOrigin& b) {
  if (!a.boot_id.empty() && !b.boot_id.empty()) return a.boot_id == b.boot_id;
  return a.host == b.host && a.kernel == b.kernel;
}

bool is_same_as_any(const std::filesystem::path& path,
                    std::span<const std::filesystem::path> others) {
  return std::ranges::any_of(others, [&](const std::filesystem::path& other) {
    std::error_code unknown;
    return std::filesystem::equivalent(path, other, unknown);
  });
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

Result<History> History::open(std::span<const std::filesystem::path> paths, bool allow_unfinished,
                              const OpenTrace& open_trace) {
  auto shared = std::make_shared<std::vector<TraceReader>>();
  std::vector<TraceReader>& traces = *shared;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (is_same_as_any(paths[i], paths.first(i))) continue;
    auto trace = open_trace(paths[i], allow_unfinished);
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
  history.window_ = window_;
  history.left_out_ = left_out_;
  history.cpus_ = cpus_;
  return history;
}

// Each stream delivers a packet when its previous one has been released, so the merger holds one
// packet of each. Its content is complete up to the earliest end of these packets.
bool History::read(MergeSink& sink) {
  begin_traces();
  refill();
  const uint64_t until = complete_until();
  if (overlapping_) deduplicator_.set_next(sink);
  release(until, overlapping_ ? static_cast<MergeSink&>(deduplicator_) : sink);
  released_until_ = until;
  return !streams_.empty() || begun_ < traces().size();
}

void History::release(uint64_t until, MergeSink& sink) {
  if (is_whole()) return merger_.release(until, sink);
  WindowSink in_window(window_, left_out_, sink);
  merger_.release(until, in_window);
}

void History::begin_traces() {
  while (begun_ < traces().size() &&
         (streams_.empty() || traces()[begun_].begin_ns() <= released_until_ + 1)) {
    begin_trace(static_cast<uint32_t>(begun_));
    ++begun_;
  }
}

bool History::reads(uint32_t cpu) const {
  return !cpus_ || std::ranges::binary_search(*cpus_, cpu);
}

void History::begin_trace(uint32_t source) {
  TraceReader& trace = (*traces_)[source];
  if (trace.end_ns() < window_.begin_ns || trace.begin_ns() > window_.end_ns) return;
  std::vector<PacketFile> files = trace.open_files();
  report_missing_files(source, files);
  for (PacketFile& file : files) {
    if (!reads(file.cpu())) continue;
    auto found = skip(file);
    if (!found) {
      if (!trace.check_end(file, found)) report_unreadable(source, file.cpu(), file.last_ns());
      continue;
    }
    if (file.skipped())
      merger_.begin_cpu(source, file.cpu(), std::max(window_.begin_ns, begin_ns_));
    streams_.push_back({.source = source, .file = std::move(file)});
  }
}

void History::report_missing_files(uint32_t source, const std::vector<PacketFile>& files) {
  for (const CpuAccount& cpu : traces()[source].manifest().cpus)
    if (cpu.total().records != 0 && reads(cpu.cpu) &&
        std::ranges::find(files, cpu.cpu, &PacketFile::cpu) == files.end())
      report_unreadable(source, cpu.cpu, 0);
}

void History::report_unreadable(uint32_t source, uint32_t cpu, uint64_t read_until) {
  if (!notify_unreadable_) return;
  const TraceReader& trace = traces()[source];
  const uint64_t begin = std::max({window_.begin_ns, begin_ns_, trace.begin_ns()});
  notify_unreadable_({.source = source, .cpu = cpu, .ts = std::max(read_until, begin)});
}

Result<> History::skip(PacketFile& file) const {
  if (begin_ns_ > window_.begin_ns) return file.skip_before(begin_ns_, PacketFile::Losses::keep);
  if (window_.begin_ns == 0) return {};
  return file.skip_before(window_.begin_ns, PacketFile::Losses::skip);
}

TimeWindow History::extent(size_t source) {
  TraceReader& trace = (*traces_)[source];
  if (trace.unfinished()) return trace.packets_window();
  return {.begin_ns = window_of(trace.manifest()).furthest_ns, .end_ns = trace.end_ns()};
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

// False at the end of the file or of the window, or where the file is damaged.
bool History::refill(Stream& stream) {
  if (stream.end_ns > window_.end_ns) return false;
  auto packet = stream.file.next();
  if (packet && *packet) {
    ++packets_;
    merger_.push((*packet)->view, (*packet)->owner, stream.source);
    stream.end_ns = (*packet)->view.header().timestamp_end;
    return true;
  }
  const Result<> end = packet ? Result<>() : propagate(packet);
  if (!(*traces_)[stream.source].check_end(stream.file, end))
    report_unreadable(stream.source, stream.file.cpu(), stream.end_ns);
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
