// SPDX-License-Identifier: BSD-2-Clause
// What clients with the role "read" get.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "daemon/access/address_mask.h"
#include "daemon/access/pseudonyms.h"

namespace ktraced {

// Does /proc/kallsyms show addresses to an unprivileged process? The rule of kallsyms_show_value()
// in kernel/ksyms_common.c. False if the settings cannot be read.
[[nodiscard]] bool kernel_shows_addresses(
    const std::filesystem::path& settings = "/proc/sys/kernel");

// What holds for readers now.
struct alignas(uint32_t) ReaderRules {
  bool real_addresses = false;  // readers see kernel addresses; otherwise pseudonyms
  bool own_only = false;        // readers see events of their own processes only
  bool have_group = false;      // there is a group of readers
  // Readers see user addresses in stacks of other users' processes; otherwise pseudonyms.
  bool real_user_addresses = false;

  bool operator==(const ReaderRules&) const = default;
  // Members of the group can open the traces on disk.
  [[nodiscard]] bool may_open_traces() const { return have_group && !own_only; }
};

// The rules, and the pseudonyms of this daemon. set() is called by the main thread, the rest is
// thread-safe.
class ReaderAccess {
 public:
  explicit ReaderAccess(const AddressPseudonyms& pseudonyms) : pseudonyms_(pseudonyms) {}

  void set(const ReaderRules& rules) { rules_.store(rules); }
  [[nodiscard]] ReaderRules rules() const { return rules_.load(); }
  [[nodiscard]] const AddressPseudonyms& pseudonyms() const { return pseudonyms_; }

  // The mask for a new trace on disk; null: it gets all addresses.
  [[nodiscard]] std::shared_ptr<AddressMask> mask_for_trace(const Schema& schema) const;

 private:
  AddressPseudonyms pseudonyms_;
  std::atomic<ReaderRules> rules_{ReaderRules{}};
};

// From now on, files that the daemon creates belong to this group; without one, to that of the
// process. Logs why it cannot. Affects all threads.
void make_files_for(const std::optional<gid_t>& readers);
// From now on, files that the daemon creates are readable for readers, or for nobody else. Other
// modes are as the umask at the start was. Affects all threads.
void set_file_modes(const ReaderRules& rules);
// Closes a directory of traces to all others if readers may not open traces; with `reopen`, opens
// it to its group if they may. Leaves a directory that is missing or not ours.
void set_directory_mode(const std::filesystem::path& directory, const ReaderRules& rules,
                        bool reopen);

}  // namespace ktraced
