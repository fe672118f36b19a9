// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/stream_recorder.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/realtime.h"

namespace ktraced {
namespace {

// How often the kernel's missed hits are read, in addition to each rotation.
constexpr uint64_t kMissedIntervalNs = 50'000'000;

// How long the recorder waits after a disk failure.
constexpr std::chrono::milliseconds kRetryInterval{500};

bool has_events(std::span<const PacketBytes> batch) {
  return std::ranges::any_of(
      batch, [](const PacketBytes& packet) { return !PacketView::of_built(packet).is_metadata(); });
}

template <class... Visits>
struct Overloaded : Visits... {
  using Visits::operator()...;
};
template <class... Visits>
Overloaded(Visits...) -> Overloaded<Visits...>;

}  // namespace

StreamRecorder::StreamRecorder(TraceFacts facts)
    : facts_(std::move(facts)), thread_([this] { run(); }) {
  ::pthread_setname_np(thread_.native_handle(), "ktraced-output");
}

StreamRecorder::~StreamRecorder() { finish(); }

Result<> StreamRecorder::set_realtime(bool on) {
  return ktraced::set_realtime(thread_.native_handle(), on);
}

void StreamRecorder::apply(const std::optional<StreamOutput>& settings) {
  if (settings_ && !settings) queue_.end();
  if (settings_ && settings) queue_.change(*settings);
  if (!settings_ && settings) {
    // Read before `begin_ns`, so that hits missed in between are counted for the series.
    HitCounts missed = facts_.missed();
    const uint64_t follow_lost = facts_.follow_lost();
    const auto* account = facts_.account ? facts_.account() : nullptr;
    queue_.begin({.settings = *settings,
                  .begin_ns = boottime_ns(),
                  .missed = std::move(missed),
                  .current_config = facts_.current_config(),
                  .names = facts_.names(),
                  .follow_lost = follow_lost,
                  .account_generation = account ? account->generation() : 0});
  }
  settings_ = settings;
  renew_stacks();
}

// Missed hits are read here, because this thread does not wait for the disk. A late reading would
// be counted for all traces since the one before.
bool StreamRecorder::publish(std::span<const PacketBytes> batch) {
  if (missed_are_due(batch)) {
    MissedReading reading = read_missed(facts_);
    missed_read_ns_ = reading.until_ns;
    queue_.push(std::move(reading));
  }
  const auto pushed = queue_.push(batch);
  renew_stacks();
  if (pushed == OutputQueue::Pushed::no_series && has_events(batch) && facts_.account)
    if (auto* account = facts_.account()) account->give_up();
  return pushed != OutputQueue::Pushed::without_names;
}

void StreamRecorder::end_trace() {
  queue_.end_trace();
  renew_stacks();
}

// Each trace can be read on its own, but for the events of its first batch: their stacks may be in
// the one before.
void StreamRecorder::renew_stacks() {
  if (queue_.lacks_stacks() && facts_.renew_stacks) facts_.renew_stacks();
}

bool StreamRecorder::missed_are_due(std::span<const PacketBytes> batch) const {
  return queue_.open() &&
         (boottime_ns() >= missed_read_ns_ + kMissedIntervalNs || queue_.rotates(batch));
}

void StreamRecorder::note_change(const SharedConfig& current_config) {
  queue_.push(Change{.ns = boottime_ns(), .current_config = current_config});
}

void StreamRecorder::finish() {
  if (!thread_.joinable()) return;
  queue_.close();
  thread_.join();
}

void StreamRecorder::run() {
  while (running_) {
    barrier_.run([this] {
      OutputStep step = queue_.next();
      if (const auto done = as_result([&] { return carry_out(step); }); !done)
        note_failed_step(done.error());
      show_progress();
    });
  }
}

// Marks the trace as incomplete.
void StreamRecorder::note_failed_step(const Error& error) {
  spdlog::error("a part of the stream is not recorded: {}", error.message);
  if (series_) series_->add_problem(error.message);
}

Result<> StreamRecorder::carry_out(OutputStep& step) {
  const bool needs_series =
      !std::holds_alternative<BeginSeries>(step) && !std::holds_alternative<NoMore>(step);
  if (needs_series && !series_) return {};  // it could not be begun
  std::visit(
      Overloaded{[this](const PacketBytes& packet) { write(packet); },
                 [this](BeginSeries& begin) {
                   series_ = std::make_unique<TraceSeries>(facts_, std::move(begin));
                 },
                 [this](MissedReading& reading) { series_->note_missed(std::move(reading)); },
                 [this](Change& change) { series_->change(std::move(change)); },
                 [this](RotateTrace) { persist([this] { return series_->finish_trace(); }); },
                 [this](MoveSeries& move) {
                   finish_or_give_up();
                   series_->move_to(std::move(move.directory));
                 },
                 [this](EndSeries) { end_series(); }, [this](NoMore) { running_ = false; }},
      step);
  return {};
}

void StreamRecorder::write(const PacketBytes& packet) {
  if (queue_.overflown())
    series_->add_problem("events or trace configs have no description: the disk was too slow");
  const PacketView view = PacketView::of_built(packet);
  persist([&] { return series_->take(view, queue_.max_files()); });
  queue_.set_carried(series_->carried_bytes());
}

bool StreamRecorder::persist(const std::function<Result<>()>& work) {
  for (;;) {
    auto done = work();
    show_failure(done);
    if (done) return true;
    show_progress();
    if (!queue_.wait_for_end(kRetryInterval)) continue;
    abandon(done.error().message);
    return false;
  }
}

// The daemon ends: it cannot wait for the disk any longer.
void StreamRecorder::abandon(std::string_view why) {
  const auto [records, until_ns] = queue_.discard();
  spdlog::error("the disk fails while the recording ends: at least {} events are lost", records);
  series_->skip(until_ns, why);
  abandoned_events_ += records;
}

void StreamRecorder::finish_or_give_up() {
  const auto done = series_->finish_trace();
  show_failure(done);
  if (done) return;
  if (auto left = series_->give_up())
    spdlog::error("{} stays unfinished; 'ktracectl show --partial' reads it", left->string());
}

void StreamRecorder::end_series() {
  finish_or_give_up();
  series_->end_account();
  abandoned_events_ += series_->removed_records();
  ended_ += series_->counts();
  series_.reset();
  std::lock_guard lock(mutex_);
  progress_.failing = false;
}

// Each kind of failure is logged once.
void StreamRecorder::show_failure(const Result<>& result) {
  if (!result) ++write_errors_;
  std::lock_guard lock(mutex_);
  if (result) {
    if (!std::exchange(progress_.failing, false)) return;
    spdlog::info("recording continues; {} events were lost",
                 queue_.lost_events() - lost_before_failure_);
    return;
  }
  const bool unreported = !progress_.failing || progress_.last_error != result.error().message;
  if (!progress_.failing) lost_before_failure_ = queue_.lost_events();
  progress_.failing = true;
  progress_.last_error = result.error().message;
  if (unreported)
    spdlog::error("the stream cannot be recorded, trying again: {}", progress_.last_error);
}

OutputCounts StreamRecorder::counts() const {
  OutputCounts counts = ended_;
  if (series_) counts += series_->counts();
  counts.write_errors = write_errors_;
  return counts;
}

void StreamRecorder::show_progress() {
  std::lock_guard lock(mutex_);
  progress_.counts = counts();
  progress_.trace = series_ ? series_->name() : "";
  if (series_) progress_.last_trace = series_->last_name();
  progress_.bytes = series_ ? series_->bytes() : 0;
  progress_.lost_events = abandoned_events_ + (series_ ? series_->removed_records() : 0);
  if (series_) progress_.files = series_->files();
}

OutputStatus StreamRecorder::status() const {
  std::lock_guard lock(mutex_);
  if (!settings_) return {.counts = progress_.counts};
  return {.settings = settings_,
          .trace = progress_.trace,
          .last_trace = progress_.last_trace,
          .bytes = progress_.bytes,
          .files = progress_.files,
          .queued_bytes = queue_.queued_bytes(),
          .lost_events = queue_.lost_events() + progress_.lost_events,
          .failing = progress_.failing,
          .last_error = progress_.last_error,
          .counts = progress_.counts};
}

}  // namespace ktraced
