// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/program_attacher.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ktraced {

void ProgramAttacher::work_in(EventLoop& loop) {
  loop_ = &loop;
  work_.work_in(loop);
}

void ProgramAttacher::start(const std::vector<ProgramNeed>& needs) {
  std::deque<Change> attach, attach_last, detach;
  for (const ProgramNeed& need : needs) {
    const bool needed = is_needed(need);
    if (needed == kernel_.attached(need.program)) continue;
    const Change change{need.program, needed};
    if (needed && need.first)
      attach.push_front(change);
    else if (need.last)
      needed ? attach_last.push_back(change) : detach.push_front(change);
    else
      (needed ? attach : detach).push_back(change);
  }
  to_change_ = std::move(detach);
  std::ranges::move(attach, std::back_inserter(to_change_));
  std::ranges::move(attach_last, std::back_inserter(to_change_));
  work_.start([this] { return change_next(); }, [this] { finish(); });
}

bool ProgramAttacher::is_needed(const ProgramNeed& need) const {
  const auto preparing = preparing_.lock();
  return need.needed || (preparing && need.program.kind == Program::Kind::built_in &&
                         preparing->programs.contains(need.program.name));
}

SlicedWork::Step ProgramAttacher::change_next() {
  for (size_t tries = to_change_.size(); tries > 0; --tries) {
    const Change change = std::move(to_change_.front());
    to_change_.pop_front();
    if (change.attach && kernel_.detaching(change.program)) {
      to_change_.push_back(change);
      continue;
    }
    make(change);
    callbacks_.changed();
    return SlicedWork::Step::more;
  }
  if (to_change_.empty() && !to_try_.empty()) {
    kernel_.try_attach(to_try_.extract(to_try_.begin()).value());
    return SlicedWork::Step::more;
  }
  return to_change_.empty() ? SlicedWork::Step::done : SlicedWork::Step::later;
}

void ProgramAttacher::make(const Change& change) {
  if (change.attach)
    attach_now(change.program);
  else
    kernel_.detach(change.program);
}

void ProgramAttacher::note(const std::string& event, const Result<>& attached) {
  if (attached)
    availability_.clear_failure(event);
  else if (availability_.note_failure(event, attached.error().message))
    spdlog::error("{}", attached.error().message);
}

void ProgramAttacher::finish() {
  callbacks_.finished();
  if (!waiting_.empty()) loop_->post([this] { call_waiting(); });
}

// In a separate turn of the loop: the callbacks may change which programs are needed.
void ProgramAttacher::call_waiting() {
  if (work_.running()) return;
  for (const OnAttached& then : std::exchange(waiting_, {})) then({});
}

void ProgramAttacher::when_attached(OnAttached then) {
  if (work_.running() || !waiting_.empty())
    waiting_.push_back(std::move(then));
  else
    then({});
}

// The preparation ends with `current`, also if `then` throws.
void ProgramAttacher::prepare(Preparation preparation, OnAttached then) {
  auto current = std::make_shared<const Preparation>(std::move(preparation));
  preparing_ = current;
  callbacks_.reconcile();
  when_attached([this, current = std::move(current),
                 then = std::move(then)](const Result<>& attached) mutable {
    then(attached ? check_attached(current->required) : attached);
    current.reset();
    if (attached) callbacks_.reconcile();
  });
}

Result<> ProgramAttacher::check_attached(const std::set<std::string>& programs) const {
  for (const std::string& program : programs) {
    if (kernel_.attached({.name = program})) continue;
    const std::string* failure = availability_.failure(program);
    return fail(ExitCode::unavailable, "{}",
                failure != nullptr ? *failure : fmt::format("'{}' is not attached", program));
  }
  return {};
}

void ProgramAttacher::cancel() {
  work_.stop();
  to_change_.clear();
  to_try_.clear();
}

void ProgramAttacher::fail_waiting() {
  for (const OnAttached& then : std::exchange(waiting_, {}))
    then(fail(ExitCode::unavailable, "ktraced is being stopped"));
}

}  // namespace ktraced
