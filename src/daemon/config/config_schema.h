// SPDX-License-Identifier: BSD-2-Clause
// The JSON Schema of the configuration, for editors: configs/ktraced.schema.json.
#pragma once

#include <string>

#include "daemon/config/config.h"

namespace ktraced {

// The text of the schema, from the same description as parse_config() reads with. `defaults`: what
// applies without a configuration.
[[nodiscard]] std::string config_schema(const EventGroups& groups, Config defaults = {});

}  // namespace ktraced
