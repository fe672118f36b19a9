// SPDX-License-Identifier: BSD-2-Clause
// The schema as JSON: as subscribers get it and as traces keep it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "schema/schema.h"

namespace ktraced {

// {"events":[…],"gfp_flags":[{"mask":"0xcc0","name":"GFP_KERNEL"},…]}
[[nodiscard]] nlohmann::json schema_to_json(const Schema& schema);

// One event: {"id","name","group","doc","size","fields":[…]}, and "print" if it has it.
[[nodiscard]] nlohmann::json event_to_json(const Event& event);
// The way back; fails as schema_from_json.
[[nodiscard]] Result<Event> event_from_json(const nlohmann::json& object);

// The way back. The JSON may come from anybody: a schema that decoders could not
// rely on (an id twice, a field beyond its record, a size that is no integer's)
// fails with ExitCode::data. Meanings and keys that a later version added are no
// error: such a field is shown as a plain number.
[[nodiscard]] Result<Schema> schema_from_json(const nlohmann::json& document);

}  // namespace ktraced
