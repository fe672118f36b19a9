// SPDX-License-Identifier: BSD-2-Clause
// The log in the journal of systemd, with priorities and fields.
#pragma once

#include <spdlog/common.h>
#include <spdlog/sinks/sink.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/log/log_writer.h"

namespace ktraced {

// True if the journal reads this descriptor (JOURNAL_STREAM, see systemd.exec(5)).
[[nodiscard]] bool is_journal(int fd);

// The fields of a line, each followed by a NUL: MESSAGE, PRIORITY (syslog(3)), SYSLOG_IDENTIFIER
// and `more`. Control characters of the message are escaped.
[[nodiscard]] std::string journal_record(spdlog::level::level_enum level, std::string_view message,
                                         const std::vector<std::string>& more);

// Sends lines with their LogFields through a LogWriter, which counts in `lost` those it drops.
[[nodiscard]] std::shared_ptr<spdlog::sinks::sink> make_journal_sink(LostLines lost);

}  // namespace ktraced
