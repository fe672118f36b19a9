// SPDX-License-Identifier: BSD-2-Clause
// The version of the protocol of the control socket (docs/protocol.md), for both its ends.
#pragma once

#include <cstdint>

namespace ktraced {

// Raised with each change that an older client or daemon would misunderstand.
inline constexpr uint64_t kProtocolVersion = 6;

}  // namespace ktraced
