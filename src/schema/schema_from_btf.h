// SPDX-License-Identifier: BSD-2-Clause
// The schema of the BPF object, read from the BTF that the compiler writes.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "schema/schema.h"

struct btf;

namespace ktraced {

// Reads `enum event_id` and, for each EVENT_<name>, `struct rec_<name>` with the tags of
// bpf/records.h. Events come in the order of their ids; gfp_flags stays empty. Fails with
// ExitCode::software if the BTF violates the rules there.
[[nodiscard]] Result<Schema> schema_from_btf(const btf* btf);

// The schema that the BTF in the bytes of a BPF ELF object describes. The object is only parsed,
// not loaded, so no privileges are needed. Fails with ExitCode::software.
[[nodiscard]] Result<Schema> schema_from_object(std::span<const std::byte> elf);

}  // namespace ktraced
