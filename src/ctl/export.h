// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl export`: traces for other programs.
#pragma once

#include "base/error.h"
#include "ctl/options.h"

namespace ktraced {

// Writes the events of trace directories, read as one history, to a file. What is whole of a
// damaged trace is written, and then it fails as `show` does.
Result<> run_export(const ExportCommand& command, const Options& options);

}  // namespace ktraced
