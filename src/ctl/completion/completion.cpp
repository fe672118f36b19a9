// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/completion/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/install_paths.h"
#include "base/text/plain_text.h"
#include "ctl/command_line/command_line.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kPatience{1};

std::vector<Candidate> options_of(const CLI::App* command) {
  std::vector<Candidate> found;
  for (; command != nullptr; command = command->get_parent())
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        if (!option->get_group().empty() &&  // not hidden from the help either
            std::ranges::find(found, "--" + name, &Candidate::value) == found.end())
          found.push_back({"--" + name, option->get_description()});
  return found;
}

std::vector<Candidate> subcommands_of(const Cursor& cursor) {
  std::vector<Candidate> found;
  if (!cursor.arguments.empty()) return found;
  for (const CLI::App* below : cursor.command->get_subcommands({}))
    found.push_back({below->get_name(), below->get_description()});
  return found;
}

// "syscall=openat,re": the values of a key of the filter.
ValueKind enter_filter_value(Cursor& cursor) {
  const size_t equals = cursor.value.find('=');
  if (equals == std::string::npos) return ValueKind::filter_arguments;
  const bool is_call = cursor.value.starts_with("syscall=");
  const size_t comma = cursor.value.rfind(',');
  const size_t length = (comma == std::string::npos ? equals : comma) + 1;
  cursor.before += cursor.value.substr(0, length);
  cursor.value.erase(0, length);
  return is_call ? ValueKind::syscalls : ValueKind::free;
}

// The line that stands for what the shell knows; empty: none.
std::string_view line_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::files:
      return ":files\n";
    case ValueKind::directories:
      return ":directories\n";
    case ValueKind::traces:
      return ":traces\n";
    case ValueKind::programs:
      return ":programs\n";
    default:
      return "";
  }
}

// Names with control characters are left out: the shell would insert them.
std::string lines_of(std::vector<Candidate> found, const Cursor& cursor) {
  std::erase_if(found, [&](const Candidate& one) {
    return one.value.empty() || !one.value.starts_with(cursor.value) ||
           printable(one.value) != one.value;
  });
  std::ranges::sort(found, {}, &Candidate::value);
  std::string lines;
  for (const Candidate& one : found)
    lines += fmt::format("{}{}\t{}\n", cursor.before, one.value, printable(one.description));
  return lines;
}

// Connects at the first question, if there is one.
AskDaemon connect_lazily(const std::string& socket) {
  auto client = std::make_shared<std::optional<Result<RpcClient>>>();
  return [client, socket](std::string_view method, const json& params) {
    if (!*client) client->emplace(RpcClient::connect(socket, kPatience));
    if (!**client) return json();
    auto answer = (**client)->call(method, params);
    return answer ? std::move(*answer) : json();
  };
}

std::string socket_of(const Cursor& cursor) {
  if (!cursor.socket.empty()) return cursor.socket;
  const char* environment = std::getenv("KTRACED_SOCKET");
  if (environment != nullptr && *environment != '\0') return environment;
  return std::string(kDefaultSocket);
}

}  // namespace

std::string complete(std::span<const std::string> words, const ConnectDaemon& connect) {
  Options options;
  std::vector<std::string> help;
  const auto program = make_program(options, help);
  Cursor cursor = find_cursor(*program, words);
  const bool is_option = cursor.option == nullptr && cursor.may_be_option;
  if (is_option && cursor.value.starts_with('-'))
    return lines_of(options_of(cursor.command), cursor);
  std::string lines;
  if (cursor.option == nullptr || cursor.option->get_positional())
    lines = lines_of(subcommands_of(cursor), cursor);
  if (cursor.option == nullptr) return lines;
  auto kind = value_kind(*cursor.command, *cursor.option).value_or(ValueKind::free);
  if (kind == ValueKind::filter_arguments) kind = enter_filter_value(cursor);
  if (kind == ValueKind::programs && !cursor.arguments.empty()) kind = ValueKind::files;
  lines += lines_of(candidates(kind, cursor, connect(socket_of(cursor))), cursor);
  return lines.append(line_of(kind));
}

std::string complete(std::span<const std::string> words) { return complete(words, connect_lazily); }

}  // namespace ktraced
