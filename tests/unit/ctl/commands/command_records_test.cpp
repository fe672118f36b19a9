// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/command_records.h"

#include <gtest/gtest.h>

#include <vector>

#include "unit/support/packets.h"

namespace ktraced::test {
namespace {

constexpr uint32_t kCommand = 700, kShell = 500;

// Thread `tid` of process `tgid`, which process `parent` has started.
Bytes named(uint32_t tid, uint32_t tgid, uint32_t parent, uint64_t start = 1) {
  return make_record(
      METADATA_task, start, tid,
      rec_metadata_task{.tgid = tgid, .uid = 1000, .start_time = start, .parent = parent});
}

Bytes freed_by(uint32_t tid) { return bare_record(10, EVENT_kfree, tid); }

bool any_of(const std::vector<std::vector<Bytes>>& packets) {
  CommandRecords records(kCommand);
  for (const std::vector<Bytes>& content : packets) {
    const Bytes bytes = make_packet({.records = content});
    records.take(PacketView::parse(bytes).value());
  }
  return records.any();
}

TEST(CommandRecords, AreThoseOfTheCommand) {
  EXPECT_FALSE(any_of({}));
  EXPECT_TRUE(any_of({{freed_by(kShell), freed_by(kCommand)}}));
}

TEST(CommandRecords, AreNotThoseOfOthers) {
  EXPECT_FALSE(
      any_of({{named(kCommand, kCommand, kShell), named(kShell, kShell, 1), named(9, kShell, 1),
               freed_by(kShell), freed_by(9), freed_by(0), freed_by(4711)}}));
}

TEST(CommandRecords, AreThoseOfDescendantsAndTheirThreads) {
  const std::vector<Bytes> names = {named(901, 901, kCommand, 2), named(902, 902, 901, 3),
                                    named(903, 902, 901, 4)};
  const std::vector<Bytes> records = {freed_by(903)};
  EXPECT_TRUE(any_of({names, records}));
  EXPECT_TRUE(any_of({records, names})) << "names may come later";
  EXPECT_FALSE(any_of({records}));
}

TEST(CommandRecords, EndWhereParentsAreACircle) {
  EXPECT_FALSE(any_of({{named(901, 901, 902), named(902, 902, 901), freed_by(901)}}));
}

}  // namespace
}  // namespace ktraced::test
