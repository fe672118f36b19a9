// SPDX-License-Identifier: BSD-2-Clause
// The control methods that change the trace config (docs/protocol.md). They run one at a time, and
// are answered when everything they request is attached.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "daemon/capture/tracer.h"
#include "daemon/control/command_queue.h"
#include "daemon/control/control_server.h"
#include "daemon/control/methods.h"

namespace ktraced {

// Creates the answer of a command when everything is attached.
using FinishCommand = std::function<Result<nlohmann::json>()>;
// Changes the trace config at once.
using BeginCommand =
    std::function<Result<FinishCommand>(const nlohmann::json& params, const Peer& peer)>;

// The second half of a command: answers it when everything is attached. The command ends when the
// last copy of `token` is released.
void finish_command(const TracerParts& tracer, const CommandQueue::Token& token, const Reply& reply,
                    const Result<FinishCommand>& begun);

// Answers a command that has succeeded in its first half.
[[nodiscard]] FinishCommand answer_with(nlohmann::json answer);

// Adds a method for administrators.
void add_command(ControlServer& server, const MethodTargets& t, MethodName name,
                 BeginCommand begin);

void add_commands(ControlServer& server, const MethodTargets& targets);

// Whether the process ids of the parameter "filter" are those of the kernel. Fails with
// ExitCode::usage if the client is in another pid namespace and has not translated them.
[[nodiscard]] Result<> check_filter_pids(const nlohmann::json& params, const Peer& peer);

}  // namespace ktraced
