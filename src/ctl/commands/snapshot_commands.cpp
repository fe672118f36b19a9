// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/table.h"
#include "ctl/views/views.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

using nlohmann::json;
using SnapshotAction = SnapshotCommand::Action;

json params_of(const SnapshotCommand& command) {
  json params = json::object();
  if (command.name) params["name"] = *command.name;
  if (command.reason) params["reason"] = *command.reason;
  if (command.action == SnapshotAction::take) params["wait"] = command.wait;
  if (command.timeout_s)
    params["timeout_ms"] = static_cast<uint64_t>(std::ceil(*command.timeout_s * 1000));
  return params;
}

const char* method_of(SnapshotAction action) {
  switch (action) {
    case SnapshotAction::take:
      return "snapshot.take";
    case SnapshotAction::list:
      return "snapshot.list";
    case SnapshotAction::keep:
      return "snapshot.keep";
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
      return snapshot_taken_view(answer, command.with_previous);
    case SnapshotAction::list:
      return snapshot_list_view(answer, {.per_cpu = command.per_cpu, .verbose = command.verbose},
                                Colours::of(STDOUT_FILENO));
    case SnapshotAction::keep:
      return fmt::format("{}: {}\n", flag_at(answer, "kept") ? "kept" : "no longer kept",
                         printable(text_at(answer, "name")));
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

// Keeps or deletes one after the other, and stops at the first failure.
Result<std::string> run_on_each(const SnapshotCommand& command, bool as_json, RpcClient& client) {
  const bool keep = command.action == SnapshotAction::keep;
  std::vector<std::string> done;
  std::string text;
  for (const std::string& name : command.names) {
    json params = {{"name", name}};
    if (keep) params["kept"] = !command.undo;
    auto answer = client.call(method_of(command.action), params);
    if (!answer && done.empty()) return propagate(answer);
    if (!answer)
      return fail(answer.error().code, "{}; {} before it: {}", answer.error().message,
                  keep ? "changed" : "deleted", fmt::join(done, ", "));
    done.push_back(name);
    text += text_of(command, *answer);
  }
  if (!as_json) return text;
  if (keep) return json_text({{"names", done}, {"kept", !command.undo}});
  return json_text({{"deleted", done.size() == 1 ? json(done.front()) : json(done)}});
}

}  // namespace

Result<std::string> run(const SnapshotCommand& command, bool json, RpcClient& client) {
  if (command.action == SnapshotAction::remove || command.action == SnapshotAction::keep)
    return run_on_each(command, json, client);
  if (command.timeout_s)
    client.set_answer_timeout(kSnapshotTimeout + std::chrono::seconds(static_cast<int64_t>(
                                                     std::ceil(*command.timeout_s))));
  auto answer = client.call(method_of(command.action), params_of(command));
  if (!answer) return propagate(answer);
  if (!json) return text_of(command, *answer);
  return json_text(*answer);
}

}  // namespace ktraced
