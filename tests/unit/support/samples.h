// SPDX-License-Identifier: BSD-2-Clause
// Samples of CPUs, for tests of readers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpf/records.h"
#include "schema/schema.h"
#include "unit/support/packets.h"

namespace ktraced::test {

inline constexpr uint16_t kSampleId = 25;

struct SampleRecord {
  struct record h;
  uint64_t ip;
  uint32_t mode;
  uint32_t reserved;
};

// Has cpu_sample, whatever programs there are.
inline const Schema& schema_with_samples() {
  static const Schema kSchema = [] {
    Schema schema;
    schema.add({.id = kSampleId,
                .name = "cpu_sample",
                .fields = {{.name = "ip",
                            .type = "hex_t",
                            .meaning = Meaning::hex,
                            .offset = offsetof(SampleRecord, ip),
                            .size = sizeof(SampleRecord::ip)},
                           {.name = "mode",
                            .type = "u32",
                            .offset = offsetof(SampleRecord, mode),
                            .size = sizeof(SampleRecord::mode)}},
                .size = sizeof(SampleRecord)});
    return schema;
  }();
  return kSchema;
}

// A record without stacks.
inline Bytes sample_of(uint64_t ts, uint32_t tid, uint32_t mode, uint64_t ip = 0) {
  return make_record(kSampleId, ts, tid, SampleRecord{.h = {}, .ip = ip, .mode = mode});
}

}  // namespace ktraced::test
