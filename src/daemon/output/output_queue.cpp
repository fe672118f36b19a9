// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/output_queue.h"

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// Metadata is written as text, not as packets. The text is about twice as long.
constexpr size_t kNameTextFactor = 2;

// True if nothing more is written to the current trace.
bool ends(const OutputStep& step) {
  return std::holds_alternative<EndSeries>(step) || std::holds_alternative<MoveSeries>(step);
}

}  // namespace

OutputQueue::BatchBytes OutputQueue::bytes_of(std::span<const PacketBytes> batch) {
  BatchBytes bytes;
  for (const PacketBytes& packet : batch) {
    const bool is_metadata = PacketView::of_built(packet).is_metadata();
    (is_metadata ? bytes.names : bytes.events) += packet->size();
    if (is_metadata) bytes.name_text += kNameTextFactor * (packet->size() - sizeof(PacketHeader));
  }
  return bytes;
}

void OutputQueue::mark(OutputStep step) {
  marks_.push_back({.position = packets_.queued_packets(), .step = std::move(step)});
  changed_.notify_all();
}

void OutputQueue::begin(BeginSeries series) {
  std::lock_guard lock(mutex_);
  set_limits(series.settings);
  directory_ = series.settings.directory;
  trace_bytes_ = 0;
  open_ = true;
  mark(std::move(series));
}

void OutputQueue::change(const StreamOutput& settings) {
  std::lock_guard lock(mutex_);
  set_limits(settings);
  if (!open_ || settings.directory == directory_) return;
  directory_ = settings.directory;
  packets_.push_losses();
  mark(MoveSeries{settings.directory});
  trace_bytes_ = 0;
  lacks_stacks_ = true;
}

void OutputQueue::set_limits(const StreamOutput& settings) {
  trace_bytes_max_ = uint64_t{settings.max_file_mb} << 20;
  max_files_ = settings.max_files;
}

void OutputQueue::set_carried(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  carried_bytes_ = bytes;
}

bool OutputQueue::open() const {
  std::lock_guard lock(mutex_);
  return open_;
}

void OutputQueue::end() {
  std::lock_guard lock(mutex_);
  end_series();
}

void OutputQueue::end_series() {
  if (!open_) return;
  open_ = false;
  packets_.push_losses();
  mark(EndSeries{});
}

void OutputQueue::close() {
  std::lock_guard lock(mutex_);
  end_series();
  mark(NoMore{});
}

bool OutputQueue::too_large_with(const BatchBytes& bytes) const {
  // At most half of the size limit counts as carried metadata, so that each trace has room for new
  // packets.
  const uint64_t carried = std::min(carried_bytes_, trace_bytes_max_ / 2);
  return trace_bytes_ != 0 &&
         carried + trace_bytes_ + bytes.events + bytes.name_text > trace_bytes_max_;
}

bool OutputQueue::rotates(std::span<const PacketBytes> batch) const {
  const BatchBytes bytes = bytes_of(batch);
  std::lock_guard lock(mutex_);
  return open_ && too_large_with(bytes);
}

void OutputQueue::end_trace() {
  std::lock_guard lock(mutex_);
  if (open_) rotate();
}

// Each trace reports all losses of its own time.
void OutputQueue::rotate() {
  packets_.push_losses();
  mark(RotateTrace{});
  trace_bytes_ = 0;
  lacks_stacks_ = true;
}

OutputQueue::Pushed OutputQueue::push(std::span<const PacketBytes> batch) {
  const BatchBytes bytes = bytes_of(batch);
  std::lock_guard lock(mutex_);
  if (!open_) return Pushed::no_series;
  if (too_large_with(bytes)) rotate();
  const size_t before = packets_.queued_bytes();
  const uint64_t lost_before = packets_.lost_events();
  const bool names_fit = packets_.push_batch(batch, false);
  if (packets_.overflown()) overflown_ = true;
  if (packets_.lost_events() != lost_before) lacks_stacks_ = true;
  // Traces with few events must rotate too: their metadata stays in memory until the trace ends.
  trace_bytes_ += packets_.queued_bytes() - before;
  if (names_fit) trace_bytes_ += bytes.name_text - bytes.names;
  changed_.notify_all();
  return names_fit ? Pushed::whole : Pushed::without_names;
}

void OutputQueue::push(Change change) {
  std::lock_guard lock(mutex_);
  if (open_) mark(std::move(change));
}

void OutputQueue::push(MissedReading reading) {
  std::lock_guard lock(mutex_);
  if (!open_) return;
  // While packets are dropped, possibly for long, only the first and the last reading are kept.
  auto is_reading_here = [&](const Mark& mark) {
    return mark.position == packets_.queued_packets() &&
           std::holds_alternative<MissedReading>(mark.step);
  };
  if (marks_.size() >= 2 && is_reading_here(marks_.back()) && is_reading_here(marks_.end()[-2]))
    marks_.pop_back();
  mark(std::move(reading));
}

OutputStep OutputQueue::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !packets_.empty() || !marks_.empty(); });
  if (!marks_.empty() && marks_.front().position == packets_.sent_packets()) {
    OutputStep step = std::move(marks_.front().step);
    marks_.pop_front();
    return step;
  }
  return packets_.take();
}

bool OutputQueue::wait_for_end(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] {
    return std::ranges::any_of(marks_, [](const Mark& mark) { return ends(mark.step); });
  });
}

OutputQueue::Discarded OutputQueue::discard() {
  std::lock_guard lock(mutex_);
  while (!marks_.empty() && !ends(marks_.front().step)) marks_.pop_front();
  const uint64_t stop = marks_.empty() ? UINT64_MAX : marks_.front().position;
  Discarded discarded;
  while (!packets_.empty() && packets_.sent_packets() < stop) {
    const PacketBytes bytes = packets_.take();
    const PacketView packet = PacketView::of_built(bytes);
    if (packet.is_metadata())
      discarded.until_ns = packet.header().timestamp_end;
    else
      packet.for_each_record([&](const RecordView&) { ++discarded.records; });
  }
  return discarded;
}

bool OutputQueue::overflown() {
  std::lock_guard lock(mutex_);
  return std::exchange(overflown_, false);
}

bool OutputQueue::lacks_stacks() {
  std::lock_guard lock(mutex_);
  return std::exchange(lacks_stacks_, false);
}

uint32_t OutputQueue::max_files() const {
  std::lock_guard lock(mutex_);
  return max_files_;
}

uint64_t OutputQueue::lost_events() const {
  std::lock_guard lock(mutex_);
  return packets_.lost_events();
}

size_t OutputQueue::queued_bytes() const {
  std::lock_guard lock(mutex_);
  return packets_.queued_bytes();
}

}  // namespace ktraced
