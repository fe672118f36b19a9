// SPDX-License-Identifier: BSD-2-Clause
// The command `report html`.
#pragma once

#include "base/error.h"
#include "ctl/options.h"

namespace ktraced {

// Writes one file that a browser shows without a network: timeline, histograms, tables. Prints
// what it has written. Fails with ExitCode::usage if there is a file of that name already; with
// ExitCode::unavailable if ktracectl was built without the page; and with ExitCode::data, after
// the file has been written, if a part of the traces could not be read.
[[nodiscard]] Result<> run_html_report(const HtmlCommand& command, const Options& options);

}  // namespace ktraced
