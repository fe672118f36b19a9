// SPDX-License-Identifier: BSD-2-Clause
// What is attached follows what is wanted, in slices: attaching or detaching one program takes the
// kernel up to tens of milliseconds, and a pattern can mean thousands.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <utility>

#include "daemon/tracer.h"

namespace ktraced {
namespace {

// Programs that keep task names and followed trees, and so run whether or not their
// event is enabled.
constexpr std::array kHousekeeping = {"sched_process_fork", "sched_process_exec", "task_rename"};

// Two that have no event.
constexpr const char* kChildBorn = "child_born";
constexpr const char* kForgetFollowed = "forget_followed";

bool is_housekeeping(const std::string& event) {
  return std::ranges::find(kHousekeeping, event) != kHousekeeping.end();
}

bool keeps_house(const std::string& program) {
  return is_housekeeping(program) || program == kChildBorn || program == kForgetFollowed;
}

}  // namespace

void Tracer::work_in(EventLoop& loop) {
  loop_ = &loop;
  for (SlicedWork* work : {&attaching_, &preparing_, &reading_}) work->work_in(loop);
}

// Begins to attach exactly the programs that are needed now. What is off records nothing from now
// on, whether it is detached yet or not.
void Tracer::reconcile() {
  if (shut_down_) return;
  const TraceConfigHistory::Change change(trace_configs_);
  const bool tracing = (streaming_ || flight_.enabled()) && !paused_;
  const bool keeping_house = tracing || filters_.following();
  if (keeping_house && !names_kept() && !names_begin_) {
    names_begin_ = true;
    names_.begin();
  }
  std::deque<ProgramChange> attach, detach;
  auto want = [&](const std::string& program, uint16_t dynamic_id, bool wanted) {
    const bool attached =
        dynamic_id != 0 ? dynamic_.attached(dynamic_id) : object_.attached(program);
    if (wanted == attached) return;
    if (wanted && dynamic_id == 0 && keeps_house(program))
      attach.push_front({program, dynamic_id, wanted});  // no event without its thread's name
    else
      (wanted ? attach : detach).push_back({program, dynamic_id, wanted});
  };
  for (const Event& event : schema_.events()) {
    const bool on = tracing && enabled_.contains(event.name);
    if (event.id < std::size(object_.control().event_on))
      std::atomic_ref(object_.control().event_on[event.id]).store(on ? 1 : 0);
    if (is_dynamic(event))  // of several definitions of one name the newest is used
      want(event.name, event.id, on && schema_.find(event.name) == &event);
    else if (!object_.unavailable().contains(event.name))
      want(event.name, 0, on || (keeping_house && is_housekeeping(event.name)));
  }
  for (const auto& [program, wanted] :
       {std::pair(kChildBorn, keeping_house), std::pair(kForgetFollowed, filters_.following())})
    if (!object_.unavailable().contains(program)) want(program, 0, wanted);

  to_change_ = std::move(detach);
  std::ranges::move(attach, std::back_inserter(to_change_));
  attaching_.start([this] { return change_next(); }, [this] { on_attached(); });
  // Without what is still to be attached. Whoever is to be the first reader gets nothing before.
  if (attaching_.running() && !changing_) changing_.emplace(trace_configs_);
  if (attaching_.running() && (flight_.enabled() || recording_ || subscribed_)) note_in_force();
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
    // As soon as the programs that keep names are attached.
    if (names_begin_ && names_kept()) {
      names_begin_ = false;
      check_names();
    }
    return SlicedWork::Step::more;
  }
  return to_change_.empty() ? SlicedWork::Step::done : SlicedWork::Step::later;
}

bool Tracer::detaching(const ProgramChange& change) {
  return change.dynamic_id != 0 ? dynamic_.detaching(change.dynamic_id)
                                : object_.detaching(change.program);
}

// Without one of them names may have changed unseen.
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

// A filter that follows needs them from the next fork on.
void Tracer::attach_followers() {
  if (!filters_.following()) return;
  const bool names_begin = !names_kept();
  if (names_begin) names_.begin();
  auto attach = [&](const std::string& program) {
    if (!object_.unavailable().contains(program)) note_attach(program, object_.attach(program));
  };
  for (const char* program : kHousekeeping) attach(program);
  attach(kChildBorn);
  attach(kForgetFollowed);
  if (names_begin) check_names();
}

void Tracer::on_attached() {
  if (std::exchange(names_begin_, false)) check_names();
  note_in_force();
  changing_.reset();
  if (!waiting_.empty()) loop_->post([this] { call_waiting(); });
}

// In a turn of their own: they may change what is wanted.
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
  if (changing_ && drain_) note_in_force();
  changing_.reset();
  for (const OnAttached& then : std::exchange(waiting_, {}))
    then(fail(ExitCode::unavailable, "ktraced is being stopped"));
}

// For the end: dynamic events are not detached one by one.
void Tracer::detach_all() {
  for (auto& on : object_.control().event_on) std::atomic_ref(on).store(0);
  for (const Event& event : schema_.events())
    if (!is_dynamic(event)) object_.detach(event.name);
  object_.detach(kChildBorn);
  object_.detach(kForgetFollowed);
  dynamic_.leave_to_pins();
}

void Tracer::prepare_tracepoints(const std::vector<std::string>& names, OnPrepared then) {
  const EventGroups groups = event_groups(schema_);
  std::vector<std::string> dynamic;
  std::ranges::copy_if(names, std::back_inserter(dynamic), [&](const std::string& name) {
    return name.contains(':') || (!groups.contains(name) && schema_.find(name) == nullptr);
  });
  visit_tracepoints(
      preparing_, dynamic,
      [this](const std::string& name) {
        ChosenEvents ignored;  // what fails is reported when it is enabled
        static_cast<void>(define_tracepoints(name, ignored));
      },
      std::move(then));
}

void Tracer::read_tracepoints(const std::vector<std::string>& names, OnPrepared then) {
  visit_tracepoints(
      reading_, names,
      [this](const std::string& name) { static_cast<void>(tracepoints_.format(name)); },
      std::move(then));
}

void Tracer::visit_tracepoints(SlicedWork& work, const std::vector<std::string>& names,
                               std::function<void(const std::string& name)> visit,
                               OnPrepared then) {
  const auto kept = tracepoints_.keep_formats();
  std::set<std::string> found;
  for (const std::string& name : names)
    if (const auto meant = tracepoints_meant(name); meant)
      found.insert(meant->begin(), meant->end());
  work.start(
      [found = std::move(found), visit = std::move(visit)]() mutable {
        if (found.empty()) return SlicedWork::Step::done;
        visit(found.extract(found.begin()).value());
        return SlicedWork::Step::more;
      },
      [kept, then = std::move(then)] { then(kept); });
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
