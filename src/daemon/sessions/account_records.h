// SPDX-License-Identifier: BSD-2-Clause
// The account of a session for its client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/sessions/session_accounts.h"

namespace ktraced {

// Metadata records: one for each event with a count, then one with the sums.
[[nodiscard]] std::vector<std::byte> account_records(const SessionAccounts& accounts,
                                                     uint32_t session);

}  // namespace ktraced
