// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/call_paths.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "analysis/coverage/event_fields.h"

namespace ktraced {
namespace {

constexpr std::string_view kCallStringEvents[] = {"sys_enter_string", "sys_exit_string"};

}  // namespace

bool CallPath::names_nothing() const {
  const bool is_descriptor = directory.value_or(-1) >= 0;
  return pointer == 0 || (text.empty() && !unreadable && is_descriptor);
}

std::optional<int32_t> CallPath::relative_to() const {
  if (unreadable || text.starts_with('/')) return std::nullopt;
  // What a symbolic link contains is relative to the link; a source may be any text.
  if (role == PathRole::link_target || role == PathRole::mount_source) return std::nullopt;
  // Without a descriptor among the arguments it is relative to the working directory.
  return directory.value_or(AT_FDCWD);
}

CallPath* CallPaths::Paths::find(uint32_t arg) {
  const auto found = std::ranges::find(list, arg, &CallPath::arg);
  return found == list.end() ? nullptr : &*found;
}

void CallPaths::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
  calls_.add_source(schema, names);
}

void CallPaths::set_selector(const RecordSelector& selector) {
  Analysis::set_selector(selector);
  calls_.set_selector(selector);
}

CallPaths::Plan CallPaths::plan_of(const Event& event) {
  Plan plan;
  if (event.name == kCallStringEvents[0])
    plan.kind = Plan::Kind::enter;
  else if (event.name == kCallStringEvents[1])
    plan.kind = Plan::Kind::exit;
  else
    return plan;
  plan.nr = field_named(event, "nr");
  plan.abi = field_named(event, "abi");
  plan.arg = field_named(event, "arg");
  plan.pointer = field_named(event, "pointer");
  plan.cut = field_named(event, "cut");
  plan.unreadable = field_named(event, "unreadable");
  plan.text = field_named(event, "text");
  if (!plan.text || plan.text->meaning != Meaning::text) plan.kind = Plan::Kind::other;
  return plan;
}

void CallPaths::on_record(const RecordOrigin& from, RecordView record) {
  calls_.on_record(from, record);
  const Plan* plan = sources_[from.source].plans.find(record.id());
  if (plan != nullptr && plan->kind != Plan::Kind::other) on_string(*plan, from, record);
}

void CallPaths::on_loss(const LossItem& loss) {
  calls_.on_loss(loss);
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  lost_strings_ += loss.count;
  on_interrupt(loss.ts, Unknown::lost);
}

void CallPaths::on_config_change(uint64_t ts, const TraceConfig& config) {
  calls_.on_config_change(ts, config);
  if (config_ && !config.same_for(*config_, kCallStringEvents))
    on_interrupt(ts, Unknown::config_change);
  config_ = config;
}

void CallPaths::on_new_id(uint32_t from, uint32_t to, uint64_t /*ts*/) {
  if (const auto previous = threads_.find(to); previous != threads_.end()) {
    deliver_ended(previous->second);
    drop_early(previous->second);
    threads_.erase(previous);
  }
  auto thread = threads_.extract(from);
  if (thread.empty()) return;
  thread.key() = to;
  threads_.insert(std::move(thread));
}

void CallPaths::on_begin(const Call& call, const CallRecord& at, Unknown /*unknown*/) {
  const uint32_t tid = at.record.tid();
  const bool may_have_path = arguments_.may_have_path(call.abi, call.nr);
  if (!may_have_path && !threads_.contains(tid)) return;
  if (threads_.size() >= 2 * max_threads_) settle_threads();
  Thread& thread = threads_[tid];
  deliver_ended(thread);
  if (!is_current(thread.early) || !thread.early.is_of(call.abi, call.nr)) drop_early(thread);
  Paths early = std::exchange(thread.early, {});
  thread.in_call = true;
  thread.args = call.args;
  thread.paths = {.abi = call.abi, .nr = call.nr, .met = early.met, .list = {}};
  for (CallPath& path : early.list) {
    const auto argument = arguments_.of(call.abi, call.nr, path.arg);
    if (!call.args_known || path.pointer == call.args[path.arg])
      add_to_call(thread, std::move(path), *argument);
    else if (early.met == kAllMet)
      ++gaps_.call_unseen;
  }
}

void CallPaths::on_string(const Plan& plan, const RecordOrigin& from, RecordView record) {
  const Paths of{.abi = static_cast<uint32_t>(value_or_zero(plan.abi, record)),
                 .nr = static_cast<int32_t>(value_or_zero(plan.nr, record)),
                 .met = met(from, record),
                 .list = {}};
  const auto arg = static_cast<uint32_t>(value_or_zero(plan.arg, record));
  const auto argument = arguments_.of(of.abi, of.nr, arg);
  if (!argument) return;
  CallPath path{.arg = arg,
                .pointer = value_or_zero(plan.pointer, record),
                .role = argument->role,
                .cut = value_or_zero(plan.cut, record) != 0,
                .unreadable = value_or_zero(plan.unreadable, record) != 0,
                .text = std::string(text_of(*plan.text, record)),
                .directory = std::nullopt};
  const bool is_path =
      path.unreadable || !arguments_.has_address(of.abi, of.nr) || path.text.starts_with('/');
  if (!is_path) path.pointer = 0;  // the address of a socket that is no file
  const auto found = threads_.find(record.tid());
  if (plan.kind == Plan::Kind::exit) {
    if (found != threads_.end()) read_again(found->second, path, of);
    return;
  }
  if (found == threads_.end() && threads_.size() >= 2 * max_threads_) settle_threads();
  add_path(threads_[record.tid()], std::move(path), of);
}

// Adds the path to the thread's call, or if it is not of that, to the next one.
void CallPaths::add_path(Thread& thread, CallPath path, const Paths& of) {
  deliver_ended(thread);
  const bool is_address = arguments_.has_address(of.abi, of.nr) && path.pointer == 0;
  if (thread.in_call && thread.paths.is_of(of.abi, of.nr) &&
      (is_address || thread.args[path.arg] == path.pointer) &&
      thread.paths.find(path.arg) == nullptr) {
    const PathArgument argument = *arguments_.of(of.abi, of.nr, path.arg);
    thread.paths.met |= of.met;
    return add_to_call(thread, std::move(path), argument);
  }
  if (is_address) return;
  Paths& early = thread.early;
  if (!is_current(early) || !early.is_of(of.abi, of.nr) || early.find(path.arg) != nullptr)
    drop_early(thread);
  early.since = interruptions_;
  early.abi = of.abi;
  early.nr = of.nr;
  early.met |= of.met;
  early.list.push_back(std::move(path));
}

void CallPaths::add_to_call(Thread& thread, CallPath path, PathArgument argument) {
  if (argument.directory)
    path.directory = static_cast<int32_t>(static_cast<uint32_t>(thread.args[*argument.directory]));
  thread.paths.list.push_back(std::move(path));
}

// Replaces a path that could not be read as the call began.
void CallPaths::read_again(Thread& thread, const CallPath& path, const Paths& of) const {
  const auto replace = [&](std::vector<CallPath>& paths) {
    const auto same = std::ranges::find_if(
        paths, [&](const CallPath& each) { return each.unreadable && each.arg == path.arg; });
    if (same == paths.end()) return;
    same->text = path.text;
    same->cut = path.cut;
    same->unreadable = path.unreadable;
    same->pointer = path.pointer;
  };
  if (thread.ended && thread.ended->abi == of.abi && thread.ended->nr == of.nr) {
    replace(thread.ended->paths);
    thread.ended->met |= of.met;
  } else if (thread.in_call && thread.paths.is_of(of.abi, of.nr)) {
    replace(thread.paths.list);
    thread.paths.met |= of.met;
  } else if (is_current(thread.early) && thread.early.is_of(of.abi, of.nr)) {
    replace(thread.early.list);  // its sys_completed follows
    thread.early.met |= of.met;
  }
}

void CallPaths::on_end(const CallInterval& interval) {
  const auto found = threads_.find(interval.tid);
  Thread* thread = found != threads_.end() && found->second.in_call ? &found->second : nullptr;
  const bool own_end = interval.end == CallEnd::returned;
  const MetConditions met = (interval.call != nullptr ? interval.call->met : 0) |
                            (own_end ? interval.returned->met : 0) |
                            (thread != nullptr ? thread->paths.met : 0);
  if (own_end)
    on_return(thread, interval, met);
  else if (thread != nullptr && !thread->paths.list.empty() && met == kAllMet)
    count_gap(interval.end);
  if (thread == nullptr) return;
  thread->in_call = false;
  thread->paths = {};
  if (thread->is_idle()) threads_.erase(found);
}

void CallPaths::count_gap(CallEnd end) {
  switch (end) {
    case CallEnd::other_returned:
    case CallEnd::unseen:
      ++gaps_.end_unseen;
      break;
    case CallEnd::thread_ended:
      ++gaps_.killed;
      break;
    case CallEnd::not_followed:
      ++gaps_.not_followed;
      break;
    case CallEnd::trace_ended:
      ++gaps_.running;
      break;
    case CallEnd::returned:
    case CallEnd::child_returned:
      break;
  }
}

void CallPaths::on_return(Thread* thread, const CallInterval& interval, MetConditions met) {
  const CallReturn& returned = *interval.returned;
  if (thread == nullptr || thread->paths.list.empty() || interval.call == nullptr) {
    const bool has_path = arguments_.may_have_path(returned.abi, returned.nr) &&
                          !arguments_.has_address(returned.abi, returned.nr);
    if (has_path && met == kAllMet)
      ++(interval.call == nullptr ? gaps_.begun_before : gaps_.path_unseen);
    return;
  }
  PathCall call{.abi = thread->paths.abi,
                .nr = thread->paths.nr,
                .tid = interval.tid,
                .cpu = returned.at.from.cpu,
                .begin_ns = interval.call->begin_ns,
                .end_ns = interval.end_ns,
                .ret = returned.ret,
                .unknown = interval.unknown,
                .paths = std::move(thread->paths.list),
                .met = met,
                .names = &returned.at.names};
  const bool may_be_read_again = std::ranges::any_of(
      call.paths, [](const CallPath& path) { return path.unreadable && path.pointer != 0; });
  if (may_be_read_again)
    thread->ended = std::move(call);
  else
    deliver(std::move(call));
}

void CallPaths::deliver(PathCall call) {
  note(call.met);
  if (call.met != kAllMet) return;
  if (arguments_.has_address(call.abi, call.nr))
    std::erase_if(call.paths,
                  [](const CallPath& path) { return path.unreadable || path.pointer == 0; });
  if (!call.paths.empty()) sink_.on_path_call(call);
}

void CallPaths::deliver_ended(Thread& thread) {
  if (auto ended = std::exchange(thread.ended, std::nullopt)) deliver(std::move(*ended));
}

void CallPaths::drop_early(Thread& thread) {
  const Paths early = std::exchange(thread.early, {});
  if (early.met == kAllMet) gaps_.call_unseen += early.list.size();
}

// In the order of thread ids, so that the result does not depend on that of the table.
void CallPaths::settle_threads() {
  std::vector<uint32_t> tids;
  tids.reserve(threads_.size());
  for (const auto& [tid, thread] : threads_) tids.push_back(tid);
  std::ranges::sort(tids);
  for (const uint32_t tid : tids) {
    Thread& thread = threads_[tid];
    deliver_ended(thread);
    drop_early(thread);
    if (thread.is_idle()) threads_.erase(tid);
  }
}

bool CallPaths::is_open(uint64_t ns) const {
  return calls_.is_open(ns) || std::ranges::any_of(threads_, [ns](const auto& each) {
           const auto& ended = each.second.ended;
           return ended && ended->begin_ns <= ns;
         });
}

void CallPaths::finish(uint64_t end_ns) {
  calls_.finish(end_ns);
  settle_threads();
}

}  // namespace ktraced
