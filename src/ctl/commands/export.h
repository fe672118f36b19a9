// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl export`: traces for other programs.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Writes the events of trace directories, read as one history, to a file. Writes the readable part
// of a damaged trace, and then fails as `show` does.
Result<> run_export(const ExportCommand& command, const Options& options);

}  // namespace ktraced
