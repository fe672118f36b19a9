// SPDX-License-Identifier: BSD-2-Clause
// The schema as JSON, for subscribers and in traces.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "schema/schema.h"

namespace ktraced {

// {"events":[…],"gfp_flags":[{"mask":"0xcc0","name":"GFP_KERNEL"},…],"contexts":true,"stacks":false}
[[nodiscard]] nlohmann::json schema_to_json(const Schema& schema);

// One event: {"id","name","group","doc","size","fields":[…]}, and those of "print", "ftrace",
// "perfetto", "perfetto_mark" and "matched_by" that it has.
[[nodiscard]] nlohmann::json event_to_json(const Event& event);
// The event that event_to_json() has written. Fails as schema_from_json().
[[nodiscard]] Result<Event> event_from_json(const nlohmann::json& object);

// The schema that schema_to_json() has written. The JSON is untrusted: a schema that decoders could
// not rely on fails with ExitCode::data (a duplicate id, a field beyond its record, a size that no
// integer has). Meanings and keys that a later version added are no error: such a field is shown as
// a plain number.
[[nodiscard]] Result<Schema> schema_from_json(const nlohmann::json& document);

}  // namespace ktraced
