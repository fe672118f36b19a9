// SPDX-License-Identifier: BSD-2-Clause
// Adopts the BPF object of an earlier daemon, or loads a new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/files/own_directory.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/features.h"

namespace ktraced {

// An object of an earlier daemon that was removed, with what it had recorded.
struct ReplacedObject {
  std::string id;
  std::string reason;     // why it was not adopted
  uint64_t since_ns = 0;  // when it was loaded; CLOCK_BOOTTIME. 0: it had no history
  uint64_t until_ns = 0;  // when it was removed
};

struct AcquiredObject {
  BpfObject object;
  BpfSizes sizes;
  bool adopted = false;  // adopted, with its history
  std::vector<ReplacedObject> replaced;
  std::string unpinned_because;  // why nothing outlives the daemon; empty: it does
  DirectoryLock lock;            // holds the pin directory until the daemon ends
};

// What is lost with these objects: a sentence for each that had programs.
[[nodiscard]] std::vector<std::string> describe_losses(std::span<const ReplacedObject> replaced);

// How long these objects had recorded, in ns.
[[nodiscard]] uint64_t lost_ns(std::span<const ReplacedObject> replaced);

// The id of an object: that of its programs, as BpfObject::identity(), and after the last '-' its
// sizes. Only an object with the same id can be adopted.
[[nodiscard]] std::string object_id(const std::string& programs, const BpfSizes& sizes);

// Difference between two objects, from their ids.
[[nodiscard]] std::string describe_difference(const std::string& old_id, const std::string& id);

// Adopts the object pinned under `path` if it equals what this daemon would load, except for the
// sizes. Otherwise loads and pins a new one, and removes the old one. Without a BPF file system, or
// if the directory is not only ours, everything except pinning works. Fails with
// ExitCode::unavailable if a running daemon holds `path`, as Pins::damaged() if what is pinned
// there cannot be adopted, and as BpfObject::load(). `may_load` is called if nothing of these sizes
// can be adopted; then it fails as that, and the object of other sizes stays. `cleanup` is the
// command that removes the pins, for messages.
[[nodiscard]] Result<AcquiredObject> acquire_object(const Schema& schema,
                                                    const KernelFeatures& features,
                                                    const BpfSizes& sizes,
                                                    const std::filesystem::path& path,
                                                    const std::string& cleanup,
                                                    const std::function<Result<>()>& may_load);

// Removes everything under `path`; returns the ids of the objects that were there. Fails
// with ExitCode::unavailable if a running daemon holds it, and as PinRoot::open().
[[nodiscard]] Result<std::vector<std::string>> remove_pinned(const std::filesystem::path& path);

}  // namespace ktraced
