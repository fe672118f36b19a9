// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl complete -- WORDS…`: the interface between ktracectl and the scripts for shells.
#pragma once

#include <span>
#include <string>

#include "ctl/completion/candidates.h"

namespace ktraced {

// Makes what asks the daemon at a socket.
using ConnectDaemon = std::function<AskDaemon(const std::string& socket)>;

// What may stand in the place of the last one of `words`, which are those after the program's name
// up to the cursor. A line "WORD\tDESCRIPTION" for each, sorted; the line ":files", ":directories",
// ":traces" (directories and archives) or ":programs" stands for those of the shell.
[[nodiscard]] std::string complete(std::span<const std::string> words,
                                   const ConnectDaemon& connect);

// Completes with the answers of the running daemon. Waits a second for it at most, and reports no
// errors, which would appear in the prompt.
[[nodiscard]] std::string complete(std::span<const std::string> words);

}  // namespace ktraced
