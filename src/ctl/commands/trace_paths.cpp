// SPDX-License-Identifier: BSD-2-Clause
// Resolves the arguments of a command to trace directories.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/text/json_access.h"
#include "base/text/suggest.h"
#include "ctl/commands/commands.h"
#include "ctl/live/rpc_client.h"
#include "trace/directory/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

bool is_name(const std::string& word) {
  return !word.empty() && !word.starts_with('.') && !word.contains('/');
}

// The daemon's snapshot directory.
Result<fs::path> daemon_store(const std::string& socket) {
  auto client = RpcClient::connect(socket, std::chrono::seconds(10));
  if (!client) return propagate(client);
  auto status = client->call("status");
  if (!status) return propagate(status);
  return fs::path(text_at(member(*status, "flight"), "directory"));
}

// "; there is an archive, NAME.tar.zst", or nothing.
std::string archive_text(const std::string& word) {
  const std::string archive = word + ".tar.zst";
  return path_exists(archive) ? "; there is an archive, " + archive : "";
}

std::unexpected<Error> not_found(const std::string& word, const std::string& elsewhere) {
  return fail(ExitCode::data, "there is no trace directory {}, {}{}", word, elsewhere,
              archive_text(word));
}

std::unexpected<Error> unknown_trace(const std::string& word, const fs::path& store) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(store, error), end; !error && at != end; at.increment(error))
    if (is_name(at->path().filename())) names.push_back(at->path().filename());
  std::ranges::sort(names);
  return fail(ExitCode::data, "{}{}",
              unknown_name("trace directory or snapshot", word, names,
                           fmt::format("'ktracectl snapshot list' lists the snapshots in {}",
                                       store.string())),
              archive_text(word));
}

}  // namespace

Result<std::vector<std::string>> trace_paths(const std::vector<std::string>& words,
                                             const std::string& store, const std::string& socket) {
  if (!store.empty() && !path_exists(store))
    return fail(ExitCode::data, "--directory {}: there is no such directory", store);
  std::vector<std::string> paths;
  fs::path directory = store;
  for (const std::string& word : words) {
    const bool in_store = !store.empty() && is_name(word) && path_exists(directory / word);
    if (!in_store && (path_exists(word) || path_exists(word + ".partial") || !is_name(word))) {
      paths.push_back(word);
      continue;
    }
    if (directory.empty()) {
      auto found = daemon_store(socket);
      if (!found)
        return not_found(word, fmt::format("and the directory of snapshots is not known: {}; "
                                           "name it with --directory",
                                           found.error().message));
      directory = *found;
    }
    const fs::path path = directory / word;
    if (directory.empty() || !(path_exists(path) || path_exists(path.string() + ".partial")))
      return unknown_trace(word, directory);
    paths.push_back(path.string());
  }
  return paths;
}

}  // namespace ktraced
