// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/session_request.h"

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;

// The tasks that are given; empty: none.
json task_filter(const SelectionArgs& selection, const SessionArgs& session) {
  json filter = json::object();
  const auto add = [&filter](const char* key, const auto& values) {
    if (!values.empty()) filter[key] = values;
  };
  add("pid", selection.pids);
  add("uid", selection.uids);
  add("comm", selection.comms);
  add("follow", session.follow);
  add("cgroup", session.cgroups);
  return filter;
}

json own_filter(const SelectionArgs& selection, const SessionArgs& session, const json& recorder) {
  json filter = recorder.is_object() ? recorder : json::object();
  const json tasks = task_filter(selection, session);
  if (session.all || !tasks.empty())
    for (const char* key : {"pid", "uid", "comm", "follow", "cgroup"}) filter.erase(key);
  filter.update(tasks);
  if (session.all) filter.erase("exclude");
  if (!session.syscalls.empty()) filter["syscall"] = session.syscalls;
  return filter;
}

}  // namespace

std::vector<std::string> session_events(const SelectionArgs& selection,
                                        const SessionArgs& session) {
  if (!selection.events.empty()) return selection.events;
  if (!selection.errors.empty()) return {"sys_exit"};
  if (!session.syscalls.empty()) return {"sys_enter", "sys_exit"};
  return {};
}

bool has_own_filter(const SelectionArgs& selection, const SessionArgs& session) {
  return session.all || !session.syscalls.empty() || !task_filter(selection, session).empty();
}

json session_request(const SelectionArgs& selection, const SessionArgs& session,
                     const json& recorder_filter) {
  json request = json::object();
  if (has_own_filter(selection, session))
    request["filter"] = own_filter(selection, session, recorder_filter);
  if (!session.stacks.empty()) request["stacks"] = session.stacks;
  if (!selection.events.empty()) {
    std::vector<std::string> events = selection.events;
    events.insert(events.end(), session.stacks.begin(), session.stacks.end());
    request["events"] = events;
  }
  if (session.buffer_kb) request["buffer_kb"] = *session.buffer_kb;
  if (!session.name.empty()) request["name"] = session.name;
  return request;
}

}  // namespace ktraced
