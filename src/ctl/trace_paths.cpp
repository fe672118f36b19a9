// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/trace_paths.h"

#include <chrono>
#include <filesystem>

#include "ctl/json_access.h"
#include "ctl/rpc_client.h"
#include "trace/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

bool is_name(const std::string& word) {
  return !word.empty() && !word.starts_with('.') && !word.contains('/');
}

// Where the daemon keeps its snapshots.
Result<fs::path> daemon_store(const std::string& socket) {
  auto client = RpcClient::connect(socket, std::chrono::seconds(10));
  if (!client) return pass_on(client);
  auto status = client->call("status");
  if (!status) return pass_on(status);
  return fs::path(text_at(member(*status, "flight"), "directory"));
}

std::unexpected<Error> nothing_named(const std::string& word, const std::string& elsewhere) {
  return fail(ExitCode::data, "there is no trace directory {}, {}", word, elsewhere);
}

}  // namespace

Result<std::vector<std::string>> trace_paths(const std::vector<std::string>& words,
                                             const std::string& store, const std::string& socket) {
  std::vector<std::string> paths;
  fs::path directory = store;
  for (const std::string& word : words) {
    const bool in_store = !store.empty() && is_name(word) && something_at(directory / word);
    if (!in_store && (something_at(word) || something_at(word + ".partial") || !is_name(word))) {
      paths.push_back(word);
      continue;
    }
    if (directory.empty()) {
      auto found = daemon_store(socket);
      if (!found)
        return nothing_named(word, fmt::format("and the directory of snapshots is not known: {}; "
                                               "name it with --directory",
                                               found.error().message));
      directory = *found;
    }
    const fs::path path = directory / word;
    if (directory.empty() || !(something_at(path) || something_at(path.string() + ".partial")))
      return nothing_named(
          word, fmt::format("and no snapshot of this name in {}: 'ktracectl snapshot list' has "
                            "their names",
                            directory.string()));
    paths.push_back(path.string());
  }
  return paths;
}

}  // namespace ktraced
