// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/file_analysis.h"

#include <algorithm>

#include "analysis/coverage/call_result.h"

namespace ktraced {
namespace {

FilePath file_path_of(const CallPath& path) {
  return {.text = path.text,
          .role = path.role,
          .cut = path.cut,
          .unreadable = path.unreadable,
          .relative_to = path.relative_to()};
}

std::string path_key(const FilePath& path) {
  std::string key = std::to_string(static_cast<int>(path.role));
  key += path.cut ? 'c' : ' ';
  key += path.unreadable ? 'u' : ' ';
  if (path.relative_to) key += std::to_string(*path.relative_to);
  return key + ':' + path.text;
}

// A system call as a part of a 64-bit key, into which all parts fit: rows are at most 2^16, numbers
// of calls below 2^11, errors below 2^12.
uint64_t path_call_key(uint32_t abi, int32_t nr) {
  return uint64_t{abi & 3} << 11 | (static_cast<uint32_t>(nr) & 0x7ff);
}
uint64_t failure_key(uint32_t process, uint32_t path, const PathCall& call, int32_t error) {
  return uint64_t{process} << 42 | uint64_t{path} << 25 | path_call_key(call.abi, call.nr) << 12 |
         static_cast<uint32_t>(error);
}

}  // namespace

void FileAnalysis::on_path_call(const PathCall& call) {
  if (std::ranges::all_of(call.paths, &CallPath::names_nothing)) {
    ++unnamed_;
    return;
  }
  Outcome outcome{.known = call.known()};
  if (call.known()) {
    outcome.error = error_of_call(call.nr, call.ret);
    outcome.opened = outcome.error == 0 && arguments_.opens(call.abi, call.nr);
    outcome.ns = call.end_ns - std::min(call.end_ns, call.begin_ns);
  } else {
    ++uncertain_;
  }
  FileCallRow& kind = calls_[calls_.place_of(path_call_key(call.abi, call.nr)).index];
  kind.abi = call.abi;
  kind.nr = call.nr;
  count(kind.use, outcome);
  const uint32_t process = count_process(call.actor(), outcome);
  for (const CallPath& each : call.paths) {
    if (each.names_nothing()) continue;
    const uint32_t path = count_path(call, each, outcome);
    count_process_path(process, path, outcome);
    if (outcome.error != 0) count_failure(process, path, call, outcome.error);
  }
}

void FileAnalysis::count(FileUse& use, const Outcome& outcome) {
  ++use.calls;
  if (!outcome.known) {
    ++use.uncertain;
    return;
  }
  use.opens += outcome.opened ? 1 : 0;
  if (outcome.error != 0) {
    ++use.failed;
    ++use.errors[outcome.error];
  }
  ++use.timed;
  use.total_ns += outcome.ns;
  use.max_ns = std::max(use.max_ns, outcome.ns);
}

uint32_t FileAnalysis::count_process(const Actor& actor, const Outcome& outcome) {
  const auto number = identities_.of(actor);
  const uint32_t index = number ? processes_.place_of(*number).index : processes_.others();
  FileProcessRow& row = processes_[index];
  if (!row.others) row.process.learn(actor);
  count(row.use, outcome);
  return index;
}

uint32_t FileAnalysis::count_path(const PathCall& call, const CallPath& path,
                                  const Outcome& outcome) {
  FilePath file = file_path_of(path);
  const auto [index, is_new] = paths_.place_of(path_key(file));
  FilePathRow& row = paths_[index];
  if (is_new) row.path = std::move(file);
  row.first_ns = row.first_ns == 0 ? call.begin_ns : std::min(row.first_ns, call.begin_ns);
  count(row.use, outcome);
  return index;
}

void FileAnalysis::count_process_path(uint32_t process, uint32_t path, const Outcome& outcome) {
  const bool others = processes_[process].others || paths_[path].others;
  if (others) return count(process_paths_[process_paths_.others()].use, outcome);
  const auto [index, is_new] = process_paths_.place_of(uint64_t{process} << 32 | path);
  FileProcessPathRow& row = process_paths_[index];
  if (is_new) {
    row.process = process;
    row.path = path;
    ++paths_[path].processes;
    ++processes_[process].paths;
  }
  count(row.use, outcome);
}

void FileAnalysis::count_failure(uint32_t process, uint32_t path, const PathCall& call,
                                 int32_t error) {
  const bool others = processes_[process].others || paths_[path].others;
  const uint32_t index = others ? failures_.others()
                                : failures_.place_of(failure_key(process, path, call, error)).index;
  FileFailureRow& row = failures_[index];
  if (!row.others) {
    row.process = process;
    row.path = path;
    row.abi = call.abi;
    row.nr = call.nr;
    row.error = error;
  }
  ++row.count;
  row.last_ns = std::max(row.last_ns, call.end_ns);
}

}  // namespace ktraced
