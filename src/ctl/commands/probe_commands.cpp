// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <fmt/ranges.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/progress.h"
#include "ctl/terminal/table.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

using nlohmann::json;
using ProbeAction = ProbesCommand::Action;

Result<std::string> file_text(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream in(file);
  if (!in)
    return fail(ExitCode::io, "cannot read {}: {}", file, errno_text(errno == 0 ? EIO : errno));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The given definitions, one per line.
Result<std::string> text_to_add(const ProbesCommand& command) {
  std::string text = fmt::format("{}", fmt::join(command.words, "\n"));
  if (!command.file) return text;
  auto from_file = file_text(*command.file);
  if (!from_file) return from_file;
  return text.empty() ? *from_file : text + "\n" + *from_file;
}

// Comment lines after a definition: restrictions that users may not expect.
std::string remarks_on(const json& probe) {
  std::string out;
  if (const std::string note = text_at(probe, "note"); !note.empty())
    out += fmt::format("#   {}\n", printable(note));
  for (const auto& [function, reason] : member(probe, "skipped").items())
    out += fmt::format("#   without {}: {}\n", printable(function),
                       printable(reason.is_string() ? reason.get<std::string>() : ""));
  return out;
}

std::string misses_text(const json& probe) {
  if (!flag_at(probe, "misses_known")) return "misses unknown (this kernel does not report them)";
  return fmt::format("{} missed", grouped(number_at(probe, "missed")));
}

std::string line_of(const json& probe) {
  const std::string definition = printable(text_at(probe, "definition"));
  if (!flag_at(probe, "available"))
    return fmt::format("{} # not available: {}\n", definition, printable(text_at(probe, "reason")));
  return fmt::format("{} # {} hits, {}{}\n{}", definition, grouped(number_at(probe, "hits")),
                     misses_text(probe), flag_at(probe, "enabled") ? "" : ", disabled",
                     remarks_on(probe));
}

std::string changes_text(const json& answer) {
  std::string out;
  for (const std::string& definition : texts_at(answer, "removed"))
    out += fmt::format("removed {}\n", printable(definition));
  for (const json& probe : list_at(answer, "added"))
    out += fmt::format("added {}\n{}", printable(text_at(probe, "definition")), remarks_on(probe));
  return out.empty() ? "nothing has changed\n" : out;
}

Result<json> ask(const ProbesCommand& command, RpcClient& client) {
  switch (command.action) {
    case ProbeAction::add: {
      auto text = text_to_add(command);
      if (!text) return propagate(text);
      StatusLine line;
      return client.call(
          "probe.add", {{"text", *text}, {"progress", line.shown()}}, [&](const json& progress) {
            line.show(fmt::format("set on {} of {} functions", grouped(number_at(progress, "done")),
                                  grouped(number_at(progress, "total"))));
          });
    }
    case ProbeAction::remove:
      return client.call("probe.remove", {{"names", command.words}});
    case ProbeAction::clear:
      return client.call("probe.clear");
    case ProbeAction::list:
      break;
  }
  return client.call("probe.list");
}

}  // namespace

std::string probe_list_view(const json& answer) {
  std::string out;
  for (const json& probe : list_at(answer, "probes")) out += line_of(probe);
  if (!out.empty()) return out;
  const std::string reason = text_at(answer, "reason");
  return reason.empty() ? "no probes\n" : fmt::format("no probes: {}\n", printable(reason));
}

Result<std::string> run(const ProbesCommand& command, bool as_json, RpcClient& client) {
  auto answer = ask(command, client);
  if (!answer) return propagate(answer);
  if (as_json) return json_text(*answer);
  return command.action == ProbeAction::list ? probe_list_view(*answer) : changes_text(*answer);
}

}  // namespace ktraced
