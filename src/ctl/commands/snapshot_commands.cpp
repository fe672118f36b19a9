// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/snapshot_commands.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "ctl/input/json_access.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/table.h"
#include "ctl/views/snapshot_list_view.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

using nlohmann::json;
using SnapshotAction = SnapshotCommand::Action;

std::string state_text(const json& snapshot) {
  if (flag_at(snapshot, "complete")) return "complete";
  const std::string why =
      fmt::format("{}", fmt::join(texts_at(snapshot, "incomplete_because"), "; "));
  return why.empty() ? "incomplete" : fmt::format("incomplete: {}", printable(why));
}

std::string taken_text(const json& answer) {
  const std::string path = printable(text_at(answer, "path"));
  if (!answer.contains("complete")) return fmt::format("{} is being written\n", path);
  return fmt::format("{}: {} records, {}\n", path, grouped(number_at(answer, "records")),
                     state_text(answer));
}

json params_of(const SnapshotCommand& command) {
  json params = json::object();
  if (command.name) params["name"] = *command.name;
  if (command.reason) params["reason"] = *command.reason;
  if (command.action == SnapshotAction::take) params["wait"] = command.wait;
  return params;
}

const char* method_of(SnapshotAction action) {
  switch (action) {
    case SnapshotAction::take:
      return "snapshot.take";
    case SnapshotAction::list:
      return "snapshot.list";
    case SnapshotAction::remove:
      return "snapshot.delete";
    case SnapshotAction::enable:
      return "snapshot.enable";
    case SnapshotAction::disable:
      return "snapshot.disable";
  }
  return "";
}

std::string text_of(const SnapshotCommand& command, const json& answer) {
  switch (command.action) {
    case SnapshotAction::take:
      return taken_text(answer);
    case SnapshotAction::list:
      return snapshot_list_view(answer, {.per_cpu = command.per_cpu, .verbose = command.verbose},
                                Colours::of(STDOUT_FILENO));
    case SnapshotAction::remove:
      return fmt::format("deleted: {}\n", printable(text_at(answer, "deleted")));
    case SnapshotAction::enable:
    case SnapshotAction::disable:
      break;
  }
  return flag_at(answer, "enabled")
             ? fmt::format("flight recorder: on, {}\n", bytes_text(number_at(answer, "bytes")))
             : "flight recorder: off\n";
}

// Deletes one after the other, and stops at the first failure.
Result<std::string> remove_each(const SnapshotCommand& command, bool as_json, RpcClient& client) {
  json deleted = json::array();
  std::string text;
  for (const std::string& name : command.names) {
    auto answer = client.call(method_of(command.action), {{"name", name}});
    if (!answer && deleted.empty()) return propagate(answer);
    if (!answer)
      return fail(answer.error().code, "{}; deleted before it: {}", answer.error().message,
                  fmt::join(deleted.get<std::vector<std::string>>(), ", "));
    deleted.push_back(name);
    text += text_of(command, *answer);
  }
  if (!as_json) return text;
  return json_text({{"deleted", deleted.size() == 1 ? deleted.front() : deleted}});
}

}  // namespace

Result<std::string> run(const SnapshotCommand& command, bool json, RpcClient& client) {
  if (command.action == SnapshotAction::remove) return remove_each(command, json, client);
  auto answer = client.call(method_of(command.action), params_of(command));
  if (!answer) return propagate(answer);
  if (!json) return text_of(command, *answer);
  return json_text(*answer);
}

}  // namespace ktraced
