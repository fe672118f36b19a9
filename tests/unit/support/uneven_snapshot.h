// SPDX-License-Identifier: BSD-2-Clause
// A snapshot whose CPUs reach back differently far.
#pragma once

#include <filesystem>
#include <string>

#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {

// From 1 s to 6 s after boot. All CPUs have the last second, in which thread 8 does more than
// thread 9.
//   CPU 0: thread 8, 10 kmalloc from 5 s on; earlier ones are overwritten.
//   CPU 1: thread 9, 20 kfree before 5 s and 5 from then on; those before 1 s are overwritten.
//   CPU 2: plugged in late, 1 kmalloc of thread 8 at 5.5 s.
//   CPU 3: has recorded nothing.
inline std::string write_uneven_snapshot(const std::filesystem::path& path) {
  constexpr uint64_t kMs = kSecond / 1000;
  const auto kmalloc = [](uint64_t ts) {
    return make_record(EVENT_kmalloc, ts, 8,
                       rec_kmalloc{.ptr = ts, .bytes_req = 300, .bytes_alloc = 512});
  };
  std::vector<Bytes> busy, quiet;
  for (uint64_t i = 0; i < 10; ++i) busy.push_back(kmalloc(5 * kSecond + i * 100 * kMs));
  for (uint64_t i = 0; i < 25; ++i)
    quiet.push_back(
        make_record(EVENT_kfree, kSecond + i * 200 * kMs, 9, rec_kfree{.ptr = 0x1000 + i}));
  const TraceSpec spec{.schema = built_schema(),
                       .packets = {{.cpu = 0, .records = busy},
                                   {.cpu = 1, .records = quiet},
                                   {.cpu = 2, .records = {kmalloc(5 * kSecond + 500 * kMs + 1)}}},
                       .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine")},
                       .begin_ns = 5 * kSecond,
                       .end_ns = 6 * kSecond};
  auto writer = begin_trace(path, spec);
  Manifest manifest = manifest_of(*writer, spec);
  manifest.kind = TraceKind::snapshot;
  for (CpuAccount& cpu : manifest.cpus) {
    if (cpu.cpu == 0) cpu.events["kmalloc"].overwritten = 1000;
    if (cpu.cpu == 1) cpu.events["kfree"].overwritten = 7;
  }
  manifest.cpus.push_back({.cpu = 3, .events = {}});
  check(writer->finish(manifest, spec.symbols));
  return path;
}

}  // namespace ktraced::test
