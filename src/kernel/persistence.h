// SPDX-License-Identifier: BSD-2-Clause
// Where the BPF object comes from: from an earlier daemon, or freshly loaded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/own_directory.h"
#include "kernel/bpf_object.h"
#include "kernel/features.h"

namespace ktraced {

struct AcquiredObject {
  BpfObject object;
  bool adopted = false;               // taken over, with its history
  std::vector<std::string> replaced;  // other objects that were removed: their ids, and why
  std::string unpinned_because;       // why nothing outlives the daemon; empty: it does
  DirectoryLock lock;                 // holds the pin directory until the daemon ends
};

// What an object has that is not as in another one, by their ids.
[[nodiscard]] std::string describe_difference(const std::string& old_id, const std::string& id);

// Adopts what is pinned under `path`, if it is what this daemon would load; else loads, pins,
// and removes what was there. Without a BPF file system, or with a directory there that is not
// ours alone, everything works but the pinning.
// Fails with ExitCode::unavailable if a living daemon holds `path`, and as BpfObject::load().
[[nodiscard]] Result<AcquiredObject> acquire_object(const Schema& schema,
                                                    const KernelFeatures& features,
                                                    const BpfSizes& sizes,
                                                    const std::filesystem::path& path);

// Removes everything under `path`; returns the ids of the objects that were there. Fails
// with ExitCode::unavailable if a living daemon holds it, and as PinRoot::open().
[[nodiscard]] Result<std::vector<std::string>> remove_pinned(const std::filesystem::path& path);

}  // namespace ktraced
