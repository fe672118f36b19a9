// SPDX-License-Identifier: BSD-2-Clause
// Replaces kernel addresses in packets by pseudonyms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "daemon/access/pseudonyms.h"
#include "daemon/access/user_addresses.h"
#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// What a reader gets pseudonyms of.
struct HiddenAddresses {
  bool kernel = true;
  bool user = true;  // in stacks and samples: see UserAddresses

  [[nodiscard]] bool any() const { return kernel || user; }
};

// Masks the kernel addresses in the packets of one stream or trace, and user addresses in stacks
// and samples.
// Belongs to one thread at a time.
//
// Addresses in built-in events, in kernel stacks, in names of slab caches, and those that the
// kernel itself puts into dynamic events get pseudonyms that are equal everywhere, and so do the
// numbers of stacks. Any other value of 8 bytes in a dynamic event that is a kernel address,
// whatever its type, gets an opaque pseudonym: a process may have chosen it.
class AddressMask {
 public:
  // `schema` may lack dynamic events that metadata records will define.
  AddressMask(const AddressPseudonyms& pseudonyms, const Schema& schema,
              HiddenAddresses hidden = {});

  // A masked copy of a packet. Metadata packets may define events.
  [[nodiscard]] PacketBytes masked(const PacketBytes& packet) { return masked(*packet); }
  [[nodiscard]] PacketBytes masked(std::span<const std::byte> packet);
  [[nodiscard]] std::vector<PacketBytes> masked(std::span<const PacketBytes> packets);
  // A masked copy of metadata records, one after another.
  [[nodiscard]] std::vector<std::byte> masked_metadata(std::span<const std::byte> records);

  [[nodiscard]] bool hides_kernel() const { return hidden_.kernel; }
  // The kernel address behind one in masked records; 0: it is not known.
  [[nodiscard]] uint64_t kernel_address(uint64_t shown) const {
    return hidden_.kernel ? pseudonyms_.reveal(shown).value_or(0) : shown;
  }
  // The address of a mapping of no file that is at `shown` in masked records; nothing: it is not
  // known.
  [[nodiscard]] std::optional<uint64_t> mapping_start(uint64_t shown) const {
    return hidden_.user ? user_addresses_.start_of(shown) : std::optional(shown);
  }

 private:
  enum class Kind : uint8_t { trusted, opaque, bytes, text };
  struct Part {
    Kind kind;
    Field field;
  };
  struct Hole {
    uint32_t begin, end;  // bytes from the start of the record
  };
  // What to rewrite in the records of an event.
  struct Plan {
    std::vector<Part> parts;
    std::vector<Hole> holes;  // bytes that no field covers may have been used before
  };
  // The last values of hide(): most addresses repeat.
  struct Recent {
    uint64_t value = 0;
    uint64_t pseudonym = 0;
  };

  void learn(const Event& event);
  static std::vector<Hole> holes_of(const Event& event);
  void mask_event(std::span<std::byte> record);
  void mask_fields(uint16_t event, std::span<std::byte> record);
  void mask_stack(std::span<std::byte> record);
  void mask_number(std::span<std::byte> record, size_t at) const;
  void mask_metadata(std::span<std::byte> record);
  void mask_part(const Part& part, uint16_t event, std::span<std::byte> record);
  void mask_word(std::span<std::byte> record, size_t at, std::optional<uint32_t> place);
  [[nodiscard]] uint64_t hide(uint64_t value);

  AddressPseudonyms pseudonyms_;
  HiddenAddresses hidden_;
  UserAddresses user_addresses_;
  Schema schema_;
  std::vector<std::optional<Plan>> plans_;  // by event id
  std::array<Recent, 4096> recent_{};
};

// AddressMask::mapping_start(); null if there is no mask.
[[nodiscard]] std::function<std::optional<uint64_t>(uint64_t shown)> real_start(
    const std::shared_ptr<AddressMask>& mask);

// Blanks the addresses in the texts of a schema: definitions of probes.
[[nodiscard]] Schema without_addresses(Schema schema);
// Blanks the addresses in the texts of a JSON value.
[[nodiscard]] nlohmann::json without_addresses(const nlohmann::json& value);

}  // namespace ktraced
