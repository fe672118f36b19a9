// SPDX-License-Identifier: BSD-2-Clause
// Writes a trace with one record of an event, from the schema of a BPF object:
//
//   sample_trace OBJECT EVENT DIRECTORY
//
// The record is by the thread 4711, "worker": see unit/support/sample_record.h.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "schema/schema_from_btf.h"
#include "unit/support/sample_record.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

constexpr uint32_t kThread = 4711;

Result<> write_sample(const char* object, const char* name, const char* directory) {
  const std::string bytes = read_file(object);
  auto schema = schema_from_object(std::as_bytes(std::span(bytes)));
  if (!schema) return propagate(schema);
  const Event* event = schema->find(name);
  if (event == nullptr) return fail(ExitCode::software, "{} has no event '{}'", object, name);
  write_trace(directory, {.schema = *schema,
                          .packets = {{.records = {sample_record(*event, kThread)}}},
                          .names = {task_name(kThread, 1, kThread, "worker")}});
  return {};
}

}  // namespace
}  // namespace ktraced::test

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: sample_trace OBJECT EVENT DIRECTORY\n", stderr);
    return 64;
  }
  auto written = ktraced::test::write_sample(argv[1], argv[2], argv[3]);
  if (written) return 0;
  std::fprintf(stderr, "sample_trace: %s\n", written.error().message.c_str());
  return 1;
}
