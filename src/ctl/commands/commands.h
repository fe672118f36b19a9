// SPDX-License-Identifier: BSD-2-Clause
// The commands; `report` and `top` have rooms of their own.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/input/options.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// A command that sends one request to the daemon: the text that it prints on stdout for the answer,
// JSON with `json`.
[[nodiscard]] Result<std::string> run(const StatusCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const EventsCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const PlainCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const FilterCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const SessionCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const ProbesCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const SnapshotCommand& command, bool json, RpcClient& client);

// The answer to probe.list as definitions that can be used as input again, each with a comment that
// has its hits and misses.
[[nodiscard]] std::string probe_list_view(const nlohmann::json& answer);

// Writing a snapshot takes as long as the disk needs.
inline constexpr std::chrono::seconds kSnapshotTimeout{3600};

// The trace directories that the arguments of a command name. An argument is a path, or the name of
// a snapshot in `store`. If `store` is empty and the path does not exist, the snapshot directory of
// the daemon at `socket` is used. Fails with ExitCode::data if neither exists.
[[nodiscard]] Result<std::vector<std::string>> trace_paths(const std::vector<std::string>& words,
                                                           const std::string& store,
                                                           const std::string& socket);

// Prints the events of trace directories as one history, in the same way as `stream` prints live
// events. Needs no daemon and no privileges. If something cannot be read, prints everything else
// and then fails with ExitCode::data.
[[nodiscard]] Result<> run_show(const ShowCommand& command, const Options& options);

// Opens a session with the events and the filter of the command, and prints until `--count`,
// `--duration` or a signal ends it, or until the output has no reader. Fails with
// ExitCode::unavailable if the daemon ends the stream.
[[nodiscard]] Result<> run_stream(const StreamCommand& command, const Options& options);

// Writes the stream of a session of its own into a trace directory until a signal comes, the
// duration is over or the given command has ended. Returns the exit code of that command, otherwise
// 0. Fails with ExitCode::usage, before anything is started, if the directory already exists.
[[nodiscard]] Result<int> run_record(const RecordCommand& command, const Options& options);

// Writes the events of trace directories, read as one history, to a file. Writes the readable part
// of a damaged trace, and then fails as `show` does.
Result<> run_export(const ExportCommand& command, const Options& options);

// Writes a trace directory to an archive, which the commands on traces read as they read the
// directory. Fails as pack_trace(), and leaves no file then.
Result<> run_archive(const ArchiveCommand& command, const Options& options);

// Answers SQL over traces. Fails with ExitCode::usage for SQL that is wrong or does more than
// reading.
Result<> run_query(const QueryCommand& command, const Options& options);

}  // namespace ktraced
