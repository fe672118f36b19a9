// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/open_session.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files/namespaces.h"
#include "base/text/json_access.h"

namespace ktraced {
namespace {

using nlohmann::json;

using KernelPids = std::map<uint32_t, uint32_t>;

Result<KernelPids> kernel_pids_of(RpcClient& client, const std::set<uint32_t>& pids) {
  KernelPids found;
  std::set<uint32_t> others = pids;
  if (others.erase(0) != 0) found[0] = 0;  // the idle tasks have it everywhere
  if (others.empty()) return found;
  auto answer = client.call("pids.resolve", {{"pids", others}});
  if (!answer) return propagate(answer);
  for (const uint32_t pid : others) {
    const uint64_t kernel_pid = number_at(member(*answer, "pids"), std::to_string(pid));
    if (kernel_pid == 0)
      return fail(ExitCode::data, "ktraced did not say which process has the id {} here", pid);
    found[pid] = static_cast<uint32_t>(kernel_pid);
  }
  return found;
}

// Calls `visit` for each process id in a filter, with the value that is to be replaced.
template <class Visit>
void for_each_pid(json& filter, const Visit& visit) {
  if (!filter.is_object()) return;
  for (const char* key : {"pid", "follow"})
    if (const auto ids = filter.find(key); ids != filter.end() && ids->is_array())
      for (json& id : *ids)
        if (id.is_number_unsigned() && id.get<uint64_t>() <= UINT32_MAX) visit(id);
  if (const auto exclude = filter.find("exclude"); exclude != filter.end())
    for_each_pid(*exclude, visit);
}

}  // namespace

Result<> resolve_pids(const std::string& socket, SelectionArgs& selection, SessionArgs& session) {
  const auto lists = {&selection.pids, &selection.tids, &session.follow};
  std::set<uint32_t> pids;
  for (const auto* list : lists) pids.insert(list->begin(), list->end());
  if (pids.empty() || in_initial_pid_namespace()) return {};
  auto client = RpcClient::connect(socket);
  if (!client) return propagate(client);
  const auto found = kernel_pids_of(*client, pids);
  if (!found) return std::unexpected(found.error());
  for (auto* list : lists)
    for (uint32_t& pid : *list) pid = found->at(pid);
  return {};
}

Result<> resolve_pids(RpcClient& client, json& filter) {
  if (in_initial_pid_namespace()) return {};
  std::set<uint32_t> pids;
  for_each_pid(filter, [&pids](const json& id) { pids.insert(id.get<uint32_t>()); });
  const auto found = kernel_pids_of(client, pids);
  if (!found) return std::unexpected(found.error());
  for_each_pid(filter, [&found](json& id) { id = found->at(id.get<uint32_t>()); });
  return {};
}

bool are_kernel_pids(json& filter) {
  bool any = false;
  for_each_pid(filter, [&any](const json&) { any = true; });
  return any && !in_initial_pid_namespace();
}

Result<LiveSource> open_session(RpcClient client, const SelectionArgs& selection,
                                const SessionArgs& session) {
  json recorder_filter;
  if (has_own_filter(selection, session)) {
    auto shown = client.call("filter.show");
    if (!shown) return propagate(shown);
    recorder_filter = member(*shown, "filter");
  }
  json request = session_request(selection, session, recorder_filter);
  if (const auto filter = request.find("filter"); filter != request.end())
    if (are_kernel_pids(*filter)) request["kernel_pids"] = true;
  return LiveSource::subscribe(std::move(client), request);
}

}  // namespace ktraced
