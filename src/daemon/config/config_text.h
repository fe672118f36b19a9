// SPDX-License-Identifier: BSD-2-Clause
// The rules of texts in the configuration. Both notations of a rule accept the same texts
// (tests/unit/daemon/config/text_values.json), but for limits: the daemon counts bytes, as the
// kernel does, and a JSON Schema can only count characters.
#pragma once

#include "daemon/config/config_node.h"

namespace ktraced {

extern const TextRule kDirectoryText;  // absolute path of a directory other than the root
extern const TextRule kSocketText;     // absolute path of a Unix socket
extern const TextRule kCommText;       // name of a task, or the beginning of one and a star
extern const TextRule kCgroupText;     // path of a control group

}  // namespace ktraced
