// SPDX-License-Identifier: BSD-2-Clause
// Layout of a probe's record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "schema/schema.h"

namespace ktraced {

// Places fields one after another, each aligned to its size.
class ProbeLayout {
 public:
  // Reserves 1, 2, 4 or 8 bytes, aligned to their size.
  struct Hole {
    uint32_t offset = 0;
    uint16_t bytes = 0;
  };

  // The field is valid until the next one is added.
  Field& add(const std::string& name, std::string type, Meaning meaning, uint32_t size,
             uint32_t count);
  // A text, stored after all fields: this adds only its location word.
  Field& add_located(const std::string& name);
  // Aligns the next field to at least `alignment`.
  void align(uint32_t alignment) { size_ = (size_ + alignment - 1) / alignment * alignment; }

  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  // Bytes so far, the record's header included.
  [[nodiscard]] uint32_t size() const { return size_; }
  // Bytes that no field covers.
  [[nodiscard]] std::vector<Hole> holes() const;

 private:
  std::vector<Field> fields_;
  uint32_t size_ = sizeof(record);
};

}  // namespace ktraced
