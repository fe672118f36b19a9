// SPDX-License-Identifier: BSD-2-Clause
// A trace that a test writes for Perfetto and reads back.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "decoders/perfetto/perfetto_writer.h"
#include "perfetto/read.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {

// One trace of two CPUs from 1000 to 9000 ns, and of threads 8 of process 8 and 9 of process 7.
class PerfettoFixture : public ::testing::Test {
 protected:
  PerfettoFixture() {
    manifest_.origin.kernel = "6.18.44";
    manifest_.origin.clock_offset_ns = 1'700'000'000'000'000'000;
    manifest_.cpus = {{.cpu = 0, .first_ns = 1000}, {.cpu = 1, .first_ns = 1000}};
    name(8, 8, "eight");
    name(9, 7, "nine");
    name(7, 7, "seven");
  }
  void name(uint32_t tid, uint32_t tgid, std::string_view comm, uint64_t since = 1,
            uint64_t start = 1) {
    Bytes bytes = task_name(tid, since, tgid, comm, start);
    names_.apply(RecordView(bytes.data()));
  }
  PerfettoWriter& writer() {
    if (!writer_)
      writer_ = std::make_unique<PerfettoWriter>(
          std::vector<PerfettoSource>{{.sources = {schema_, names_, &symbols_},
                                       .manifest = manifest_,
                                       .begin_ns = 1000,
                                       .end_ns = 9000,
                                       .changes = changes_}},
          stacks_, files_);
    return *writer_;
  }
  template <class Record>
  void add(uint16_t id, uint64_t ts, uint32_t tid, Record record, uint32_t cpu = 0) {
    const Bytes bytes = make_record(id, ts, tid, record);
    writer().on_record({.cpu = cpu}, RecordView(bytes.data()));
  }
  void enter(uint64_t ts, uint32_t tid, int nr, uint32_t cpu = 0) {
    add(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr, .args = {1, 0x20, 3, 4, 5, 6}}, cpu);
  }
  void leave(uint64_t ts, uint32_t tid, int nr, int64_t ret, uint32_t cpu = 0) {
    add(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr, .ret = ret}, cpu);
  }
  void lose(uint64_t ts, uint16_t id, uint64_t count = 1, uint32_t cpu = 0) {
    writer().on_loss({.ts = ts, .cpu = cpu, .event_id = id, .count = count});
  }
  ReadTrace read() {
    writer().finish();
    ReadTrace trace = read_perfetto(writer().out());
    EXPECT_THAT(trace.faults, ::testing::ElementsAre());
    return trace;
  }

  Schema schema_ = built_schema();
  NameTable names_;
  FewSymbols symbols_;
  Manifest manifest_;
  std::vector<uint64_t> changes_;
  TraceStacks stacks_;
  FrameNames files_{{.debug_files = {.directory = "/nowhere"}}};
  std::unique_ptr<PerfettoWriter> writer_;
};

}  // namespace ktraced::test
