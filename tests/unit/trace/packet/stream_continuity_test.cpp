// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/stream_continuity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StreamContinuityTest : public testing::Test {
 protected:
  void take(uint32_t cpu, uint64_t sequence, uint64_t discarded, uint64_t lost = 0) {
    test::PacketSpec spec{.cpu = cpu, .records = {test::bare_record(++ts_)}, .lost = {}};
    if (lost != 0) spec.lost.push_back({.count = lost, .event_id = 1, .reserved = 0});
    test::Bytes bytes = test::make_packet(spec);
    PacketHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.packet_seq_num = sequence;
    header.events_discarded = discarded;
    std::memcpy(bytes.data(), &header, sizeof(header));
    continuity.take(PacketView::parse(bytes).value());
  }

  StreamContinuity continuity;

 private:
  uint64_t ts_ = 0;
};

TEST_F(StreamContinuityTest, HasNoGapsWhenEveryLossIsReported) {
  take(0, 7, 3);  // a subscriber may join a stream anywhere
  take(1, 0, 0);
  take(0, 8, 3);
  take(0, 9, 5, 2);     // lost in the ring
  take(0, 14, 25, 20);  // packets dropped, and reported
  take(1, 1, 0);
  EXPECT_THAT(continuity.gaps(), IsEmpty());
}

TEST_F(StreamContinuityTest, HasGapsWhenPacketsOrEventsAreMissing) {
  take(2, 0, 0);
  take(2, 2, 0);     // a packet is missing
  take(2, 3, 9, 5);  // more was lost than this one reports
  take(3, 0, 0);
  EXPECT_THAT(continuity.gaps(), ElementsAre("CPU 2: 2 unreported gaps in the stream"));
  continuity.clear_gaps();
  take(2, 4, 9);
  EXPECT_THAT(continuity.gaps(), IsEmpty());
}

}  // namespace
}  // namespace ktraced
