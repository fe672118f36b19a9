// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/mapping_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using test::Bytes;
using test::file_record_of;
using test::mapping_record_of;
using test::MappingSpec;
using testing::IsNull;
using testing::NotNull;

constexpr uint64_t kNumber = uint64_t{1} << 63;
constexpr uint64_t kLibc = kNumber | 1, kPlugin = kNumber | 2;
constexpr uint64_t kCode = 0x7f0000026000;  // an address in the mapping of libc()
constexpr ProcessId kProcess{.tgid = 7, .start_ns = 1'000'000'000};

RecordView view(const Bytes& bytes) { return RecordView(bytes.data()); }

MappingSpec libc() {
  return {.start = 0x7f0000026000, .end = 0x7f000017c000, .offset = 0x26000, .file = kLibc};
}

class MappingTableTest : public testing::Test {
 protected:
  void add(uint64_t ts, const MappingSpec& spec) { table_.add(view(mapping_record_of(ts, spec))); }
  // The file at an address of the process of libc(); 0: nothing is known.
  [[nodiscard]] uint64_t file_at(uint64_t ts, uint64_t address = kCode,
                                 const ProcessId& process = kProcess) const {
    const auto place = table_.find(process, ts, address);
    return place && place->file != nullptr ? place->file->number : 0;
  }
  void SetUp() override {
    table_.add(view(file_record_of(1, kLibc, "/usr/lib/libc.so.6")));
    table_.add(view(file_record_of(1, kPlugin, "/opt/plugin.so")));
  }

  MappingTable table_;
};

TEST(FileOf, ReadsARecordOfAFile) {
  const Bytes bytes = file_record_of(5, kLibc, "/memfd:a\xff",
                                     {.inode = 12,
                                      .changed = 1'700'000'000'000'000'001,
                                      .device = 0xfe00000,
                                      .flags = FILE_DELETED});
  EXPECT_EQ(file_of(view(bytes)), (MappedFile{.number = kLibc,
                                              .path = "/memfd:a\xff",
                                              .inode = 12,
                                              .changed_ns = 1'700'000'000'000'000'001,
                                              .device = 0xfe00000,
                                              .deleted = true}));
  const Bytes cut = file_record_of(5, kLibc, "lib/libc.so.6", {.flags = FILE_CUT});
  EXPECT_EQ(file_of(view(cut)),
            (MappedFile{.number = kLibc, .path = "lib/libc.so.6", .cut = true}));
}

TEST(FileOf, RefusesWhatProgramsDoNotWrite) {
  EXPECT_FALSE(file_of(view(test::bare_record(1))));
  EXPECT_FALSE(file_of(view(test::bare_record(1, RECORD_FILE))));
  EXPECT_FALSE(file_of(view(file_record_of(1, 5, "/bin/true"))));
  Bytes endless = file_record_of(1, kLibc, "/bin/sh");
  ASSERT_EQ(endless.size(), sizeof(rec_file) + 8);
  EXPECT_TRUE(file_of(view(endless)));
  endless.back() = std::byte{'x'};
  EXPECT_FALSE(file_of(view(endless)));
}

TEST(MappingOf, RefusesWhatProgramsDoNotWrite) {
  EXPECT_TRUE(mapping_of(view(mapping_record_of(1, libc()))));
  EXPECT_FALSE(mapping_of(view(test::bare_record(1, RECORD_MAPPING))));
  EXPECT_FALSE(mapping_of(view(mapping_record_of(1, {.start = 2, .end = 2}))));
  EXPECT_TRUE(mapping_of(view(mapping_record_of(1, {.end = 1, .file = MAPPING_VDSO}))));
  EXPECT_FALSE(mapping_of(view(mapping_record_of(1, {.end = 1, .file = MAPPING_VDSO + 1}))));
}

TEST_F(MappingTableTest, FindsTheFileAndThePlaceInItOfEachAddress) {
  add(10, libc());
  const auto place = table_.find(kProcess, 10, 0x7f0000026123);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->kind, CodePlace::Kind::file);
  EXPECT_EQ(place->offset, 0x26123U);
  ASSERT_THAT(place->file, NotNull());
  EXPECT_EQ(place->file->path, "/usr/lib/libc.so.6");
  EXPECT_EQ(file_at(10, 0x7f000017bfff), kLibc);
  EXPECT_EQ(file_at(10, 0x7f000017c000), 0U);
  EXPECT_EQ(file_at(10, 0x7f0000025fff), 0U);
}

TEST_F(MappingTableTest, KnowsCodeWithoutAFile) {
  add(10, {.start = 0x1000, .end = 0x2000, .file = MAPPING_ANONYMOUS});
  add(10, {.start = 0x3000, .end = 0x5000, .file = MAPPING_VDSO});
  EXPECT_EQ(table_.find(kProcess, 10, 0x1fff),
            (CodePlace{.kind = CodePlace::Kind::anonymous, .file = nullptr, .offset = 0}));
  EXPECT_EQ(table_.find(kProcess, 10, 0x3010),
            (CodePlace{.kind = CodePlace::Kind::vdso, .file = nullptr, .offset = 0x10}));
}

TEST_F(MappingTableTest, KnowsThePlaceInAFileThatItDoesNotKnow) {
  add(10, {.start = 0x1000, .end = 0x2000, .offset = 0x3000, .file = kNumber | 3});
  EXPECT_EQ(table_.find(kProcess, 10, 0x1001),
            (CodePlace{.kind = CodePlace::Kind::file, .file = nullptr, .offset = 0x3001}));
}

TEST_F(MappingTableTest, GivesEachTimeItsMapping) {
  MappingSpec plugin = libc();
  plugin.file = kPlugin;
  add(10, libc());
  add(20, plugin);
  add(30, libc());
  EXPECT_EQ(file_at(10), kLibc);
  EXPECT_EQ(file_at(19), kLibc);
  EXPECT_EQ(file_at(20), kPlugin);
  EXPECT_EQ(file_at(29), kPlugin);
  EXPECT_EQ(file_at(30), kLibc);
}

TEST_F(MappingTableTest, TakesTheFirstMappingForTheTimeBeforeIt) {
  add(10, libc());
  EXPECT_EQ(file_at(1), kLibc);
}

TEST_F(MappingTableTest, ReplacesOnlyWhatALaterMappingOverlaps) {
  add(10, {.start = 0x1000, .end = 0x9000, .file = kLibc});
  add(20, {.start = 0x3000, .end = 0x4000, .file = kPlugin});
  EXPECT_EQ(file_at(20, 0x2fff), kLibc);
  EXPECT_EQ(file_at(20, 0x3000), kPlugin);
  EXPECT_EQ(file_at(20, 0x3fff), kPlugin);
  EXPECT_EQ(file_at(20, 0x4000), kLibc);
  EXPECT_EQ(file_at(19, 0x3000), kLibc);
}

TEST_F(MappingTableTest, TakesRecordsInAnyOrder) {
  MappingSpec plugin = libc();
  plugin.file = kPlugin;
  add(30, libc());
  add(20, plugin);
  EXPECT_EQ(file_at(20), kPlugin);
  EXPECT_EQ(file_at(30), kLibc);
}

TEST_F(MappingTableTest, KeepsProcessesWithTheSameIdApart) {
  add(10, libc());
  const ProcessId later{.tgid = 7, .start_ns = 5'000'000'000};
  EXPECT_EQ(file_at(6'000'000'000, kCode, later), 0U);
  MappingSpec plugin = libc();
  plugin.file = kPlugin;
  plugin.process_start = later.start_ns;
  add(5'500'000'000, plugin);
  EXPECT_EQ(file_at(6'000'000'000, kCode, later), kPlugin);
  EXPECT_EQ(file_at(6'000'000'000), kLibc);
  EXPECT_EQ(file_at(10, kCode, {.tgid = 8, .start_ns = kProcess.start_ns}), 0U);
}

TEST_F(MappingTableTest, AcceptsStartsOfProcessesThatAreRounded) {
  MappingSpec exact = libc();
  exact.process_start = 1'009'999'999;
  add(2'000'000'000, exact);
  EXPECT_EQ(file_at(2'000'000'000, kCode, {.tgid = 7, .start_ns = 1'000'000'000}), kLibc);
  EXPECT_EQ(file_at(2'000'000'000, kCode, {.tgid = 7, .start_ns = 1'010'000'000}), 0U);
}

TEST_F(MappingTableTest, TakesTheLastProcessIfItsStartIsNotKnown) {
  const ProcessId unknown{.tgid = 7};
  add(1'500'000'000, libc());
  MappingSpec plugin = libc();
  plugin.file = kPlugin;
  plugin.process_start = 5'000'000'000;
  add(5'500'000'000, plugin);
  EXPECT_EQ(file_at(4'000'000'000, kCode, unknown), kLibc);
  EXPECT_EQ(file_at(5'500'000'000, kCode, unknown), kPlugin);
  EXPECT_EQ(file_at(500'000'000, kCode, unknown), 0U);
  EXPECT_EQ(file_at(5'500'000'000, kCode, {.tgid = 6}), 0U);
}

TEST_F(MappingTableTest, EndsMappingsWhenTheProcessExecutesAnotherProgram) {
  add(10, libc());
  add(20, {.image = 2, .start = 0x1000, .end = 0x2000, .file = kPlugin});
  EXPECT_EQ(file_at(19), kLibc);
  EXPECT_EQ(file_at(20), 0U);
  EXPECT_EQ(file_at(20, 0x1000), kPlugin);
  EXPECT_EQ(file_at(19, 0x1000), 0U) << "that program had nothing there";
}

TEST_F(MappingTableTest, KeepsTheBuildIdOfAFile) {
  table_.add(MappedFile{.number = kLibc, .path = "/usr/lib/libc.so.6", .build_id = "0123abcd"});
  table_.add(view(file_record_of(30, kLibc, "/lib/libc.so.6")));
  ASSERT_THAT(table_.file(kLibc), NotNull());
  EXPECT_EQ(table_.file(kLibc)->build_id, "0123abcd");
  EXPECT_EQ(table_.file(kLibc)->path, "/lib/libc.so.6");
  EXPECT_THAT(table_.file(kNumber), IsNull());
}

TEST_F(MappingTableTest, KeepsTheProcessesThatWereAddedLast) {
  MappingTable small(100 * 1024);
  const auto id = [](uint32_t tgid) { return ProcessId{.tgid = tgid, .start_ns = 1'000'000'000}; };
  for (uint32_t tgid = 1; tgid < 10'000; ++tgid) {
    MappingSpec spec = libc();
    spec.tgid = tgid;
    small.add(view(mapping_record_of(tgid, spec)));
    spec.tgid = 1;  // one that goes on
    if (tgid % 10 == 0) small.add(view(mapping_record_of(tgid, spec)));
  }
  EXPECT_TRUE(small.find(id(1), 10'000, kCode));
  EXPECT_TRUE(small.find(id(9'999), 10'000, kCode));
  EXPECT_FALSE(small.find(id(5'000), 10'000, kCode));
  EXPECT_GT(small.evicted(), 9'000U);
}

// A process can map and unmap code without end.
TEST_F(MappingTableTest, BoundsWhatItKeepsOfOneAddress) {
  for (uint64_t i = 0; i < 10'000; ++i)
    add(i, {.start = 0x1000 * (i % 2 + 1), .end = 0x4000, .file = kNumber | (i % 5)});
  EXPECT_TRUE(table_.find(kProcess, 9'999, 0x3000));
  constexpr uint64_t kPieces = 4 * MappingTable::kMaxOverlapped;
  for (uint64_t i = 0; i < kPieces; ++i)
    add(20'000 + i, {.start = 0x10000 + 0x1000 * i, .end = 0x11000 + 0x1000 * i, .file = kPlugin});
  EXPECT_EQ(file_at(30'000, 0x10000), kPlugin);
  add(40'000, {.start = 0x10000, .end = 0x10000 + 0x1000 * kPieces, .file = kLibc});
  EXPECT_EQ(file_at(40'000, 0x10000), kLibc);
  EXPECT_EQ(file_at(40'000, 0x10000 + 0x1000 * kPieces - 1), kLibc);
  EXPECT_EQ(file_at(40'000, 0x10000 + 0x1000 * kPieces), 0U);
}

}  // namespace
}  // namespace ktraced
