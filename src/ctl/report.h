// SPDX-License-Identifier: BSD-2-Clause
// The command `report`.
#pragma once

#include "base/error.h"
#include "ctl/options.h"

namespace ktraced {

// Prints what the events of trace directories amount to, which needs no daemon and no privileges,
// or those of a live stream. Fails with ExitCode::data after everything that can be read if
// something cannot.
[[nodiscard]] Result<> run_report(const ReportCommand& command, const Options& options);

}  // namespace ktraced
