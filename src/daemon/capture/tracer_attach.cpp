// SPDX-License-Identifier: BSD-2-Clause
// Attaches and detaches programs in slices. The kernel takes up to tens of milliseconds for one
// program, and a pattern can match thousands.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <utility>

#include "daemon/capture/tracer.h"

namespace ktraced {
namespace {

// Programs that track task names and followed processes. They run whether or not their event is
// enabled.
constexpr std::array kHousekeeping = {"sched_process_fork", "sched_process_exec", "task_rename"};

// Two programs that have no event.
constexpr const char* kChildBorn = "child_born";
constexpr const char* kEvictFollowed = "evict_followed";

bool is_name_tracker(const std::string& event) {
  return std::ranges::find(kHousekeeping, event) != kHousekeeping.end();
}

bool tracks_tasks(const std::string& program) {
  return is_name_tracker(program) || program == kChildBorn || program == kEvictFollowed;
}

}  // namespace

void Tracer::work_in(EventLoop& loop) {
  loop_ = &loop;
  for (SlicedWork* work : {&attaching_, &preparing_, &listing_, &searching_}) work->work_in(loop);
  looking_up_ = std::make_unique<BackgroundWork>(loop, "ktraced-probes");
}

// Starts to attach exactly the programs that are needed now. Disabled events record nothing from
// now on, even if they are not detached yet.
void Tracer::reconcile() {
  if (shut_down_) return;
  const TraceConfigHistory::Change change(trace_configs_);
  const bool tracing = (streaming_ || flight_.enabled()) && !paused_;
  const bool tracking_tasks = tracing || filters_.following();
  if (tracking_tasks && !names_kept() && !names_begin_) {
    names_begin_ = true;
    names_.begin();
  }
  std::deque<ProgramChange> attach, detach;
  auto plan = [&](const std::string& program, uint16_t dynamic_id, bool needed) {
    const bool attached =
        dynamic_id != 0 ? dynamic_.attached(dynamic_id) : object_.attached(program);
    if (needed == attached) return;
    if (needed && dynamic_id == 0 && tracks_tasks(program))
      attach.push_front({program, dynamic_id, needed});  // events need thread names
    else
      (needed ? attach : detach).push_back({program, dynamic_id, needed});
  };
  for (const Event& event : schema_.events()) {
    const bool on = tracing && enabled_.contains(event.name);
    if (event.id < std::size(object_.control().event_on))
      std::atomic_ref(object_.control().event_on[event.id]).store(on ? 1 : 0);
    if (is_dynamic(event))  // if a name has several definitions, the newest is used
      plan(event.name, event.id, on && schema_.find(event.name) == &event);
    else if (!object_.unavailable().contains(event.name))
      plan(event.name, 0, on || (tracking_tasks && is_name_tracker(event.name)));
  }
  for (const auto& [program, needed] :
       {std::pair(kChildBorn, tracking_tasks), std::pair(kEvictFollowed, filters_.following())})
    if (!object_.unavailable().contains(program)) plan(program, 0, needed);

  to_change_ = std::move(detach);
  std::ranges::move(attach, std::back_inserter(to_change_));
  attaching_.start([this] { return change_next(); }, [this] { on_attached(); });
  // Without the programs still to be attached. A first reader gets nothing before that.
  if (attaching_.running() && !changing_) changing_.emplace(trace_configs_);
  if (attaching_.running() && (flight_.enabled() || recording_ || subscribed_)) note_config();
}

SlicedWork::Step Tracer::change_next() {
  for (size_t tries = to_change_.size(); tries > 0; --tries) {
    const ProgramChange change = std::move(to_change_.front());
    to_change_.pop_front();
    if (change.attach && detaching(change)) {
      to_change_.push_back(change);
      continue;
    }
    make(change);
    // Called as soon as the programs that track names are attached.
    if (names_begin_ && names_kept()) {
      names_begin_ = false;
      check_names();
    }
    return SlicedWork::Step::more;
  }
  if (to_change_.empty() && !to_try_.empty()) {
    try_probe(to_try_.extract(to_try_.begin()).value());
    return SlicedWork::Step::more;
  }
  return to_change_.empty() ? SlicedWork::Step::done : SlicedWork::Step::later;
}

bool Tracer::detaching(const ProgramChange& change) {
  return change.dynamic_id != 0 ? dynamic_.detaching(change.dynamic_id)
                                : object_.detaching(change.program);
}

// If one of them is detached, names may change unnoticed.
bool Tracer::names_kept() const {
  auto kept = [this](const std::string& program) {
    return object_.attached(program) || object_.unavailable().contains(program);
  };
  return kept(kChildBorn) && std::ranges::all_of(kHousekeeping, kept);
}

void Tracer::make(const ProgramChange& change) {
  if (change.attach)
    note_attach(change.program, change.dynamic_id != 0 ? dynamic_.attach(change.dynamic_id)
                                                       : object_.attach(change.program));
  else if (change.dynamic_id != 0)
    dynamic_.detach(change.dynamic_id);
  else
    object_.detach(change.program);
}

void Tracer::note_attach(const std::string& event, const Result<>& attached) {
  if (attached)
    attach_failures_.erase(event);
  else if (attach_failures_.emplace(event, attached.error().message).second)
    spdlog::error("{}", attached.error().message);
}

// A filter with "follow" needs these programs from the next fork on.
void Tracer::attach_followers() {
  if (!filters_.following()) return;
  const bool names_begin = !names_kept();
  if (names_begin) names_.begin();
  auto attach = [&](const std::string& program) {
    if (!object_.unavailable().contains(program)) note_attach(program, object_.attach(program));
  };
  for (const char* program : kHousekeeping) attach(program);
  attach(kChildBorn);
  attach(kEvictFollowed);
  if (names_begin) check_names();
}

void Tracer::on_attached() {
  if (std::exchange(names_begin_, false)) check_names();
  note_config();
  changing_.reset();
  if (!waiting_.empty()) loop_->post([this] { call_waiting(); });
}

// In a separate turn of the loop: the callbacks may change which programs are needed.
void Tracer::call_waiting() {
  if (attaching_.running()) return;
  for (const OnAttached& then : std::exchange(waiting_, {})) then({});
}

void Tracer::when_attached(OnAttached then) {
  if (attaching_.running() || !waiting_.empty())
    waiting_.push_back(std::move(then));
  else
    then({});
}

void Tracer::drop_work() {
  attaching_.stop();
  to_change_.clear();
  to_try_.clear();
  stop_looking_up_.request_stop();
  if (changing_ && drain_) note_config();
  changing_.reset();
  for (const OnAttached& then : std::exchange(waiting_, {}))
    then(fail(ExitCode::unavailable, "ktraced is being stopped"));
}

// At the end of the daemon: dynamic events are not detached one by one.
void Tracer::detach_all() {
  for (auto& on : object_.control().event_on) std::atomic_ref(on).store(0);
  for (const Event& event : schema_.events())
    if (!is_dynamic(event)) object_.detach(event.name);
  object_.detach(kChildBorn);
  object_.detach(kEvictFollowed);
  dynamic_.leave_to_pins();
}

std::shared_ptr<void> Tracer::expect_reader() {
  ++expected_readers_;
  stream_to_readers();
  return {nullptr, [this](void*) {
            --expected_readers_;
            stream_to_readers();
          }};
}

}  // namespace ktraced
