// SPDX-License-Identifier: BSD-2-Clause
// ktracectl query: SQL over traces.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Fails with ExitCode::usage for SQL that is wrong or does more than reading.
Result<> run_query(const QueryCommand& command, const Options& options);

}  // namespace ktraced
