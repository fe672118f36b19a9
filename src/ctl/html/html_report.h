// SPDX-License-Identifier: BSD-2-Clause
// The command `report html`.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Writes one file that a browser shows without a network: timeline, histograms, tables. Prints what
// it has written. Fails with ExitCode::usage if the file already exists, and with
// ExitCode::unavailable if ktracectl was built without the page. Fails with ExitCode::data, after
// writing the file, if a part of the traces could not be read.
[[nodiscard]] Result<> run_html_report(const HtmlCommand& command, const Options& options);

}  // namespace ktraced
