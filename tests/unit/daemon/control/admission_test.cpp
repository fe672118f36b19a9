// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace ktraced {
namespace {

using testing::HasSubstr;

Peer reader(uid_t uid) { return {.pid = 1, .uid = uid, .gid = uid, .role = Role::read}; }
Peer admin(uid_t uid) { return {.pid = 1, .uid = uid, .gid = uid, .role = Role::admin}; }

constexpr AdmissionLimits kFew = {
    .connections = 10, .connections_per_user = 3, .connections_kept = 2, .unread_per_user = 1000};

std::vector<Admission::Share> admit(Admission& admission, const Peer& peer, int count) {
  std::vector<Admission::Share> shares;
  for (int i = 0; i < count; ++i) shares.push_back(admission.admit(peer).value());
  return shares;
}

std::string refusal(Admission& admission, const Peer& peer) {
  auto share = admission.admit(peer);
  return share ? "" : share.error().message;
}

TEST(Admission, RefusesUsersWithoutARole) {
  Admission admission(kFew);
  auto share = admission.admit({.pid = 1, .uid = 1000, .gid = 1000, .role = Role::none});
  ASSERT_FALSE(share);
  EXPECT_EQ(share.error().code, ExitCode::no_permission);
}

TEST(Admission, LimitsTheConnectionsOfOneUser) {
  Admission admission(kFew);
  auto first = admit(admission, reader(1000), 3);
  EXPECT_THAT(refusal(admission, reader(1000)), HasSubstr("uid 1000 has 3 open"));
  auto other = admit(admission, admin(1001), 3);
  EXPECT_THAT(refusal(admission, admin(1001)), HasSubstr("uid 1001 has 3 open"));
  first.pop_back();
  EXPECT_EQ(refusal(admission, reader(1000)), "");
}

TEST(Admission, ReservesConnectionsForAdministrators) {
  Admission admission(kFew);
  auto first = admit(admission, reader(1000), 3);
  auto second = admit(admission, reader(1001), 3);
  auto third = admit(admission, reader(1002), 2);
  EXPECT_THAT(refusal(admission, reader(1003)), HasSubstr("kept for administrators"));
  auto kept = admit(admission, admin(1004), 1);
  auto root = admit(admission, admin(0), 1);
  EXPECT_THAT(refusal(admission, admin(0)), HasSubstr("10 are open"));
}

TEST(Admission, AllowsAllConnectionsToRoot) {
  Admission admission(kFew);
  EXPECT_EQ(admit(admission, admin(0), 10).size(), 10U);
  EXPECT_EQ(admit(admission, admin(0), 10).size(), 10U) << "their connections have been released";
}

TEST(Admission, CountsUnreadAnswersOverAllConnectionsOfAUser) {
  Admission admission(kFew);
  auto shares = admit(admission, reader(1000), 2);
  auto other = admit(admission, reader(1001), 1);
  auto root = admit(admission, admin(0), 1);
  shares[0].set_unread(600);
  shares[1].set_unread(500);
  root[0].set_unread(5000);
  EXPECT_TRUE(shares[0].unread_exhausted());
  EXPECT_FALSE(other[0].unread_exhausted());
  EXPECT_FALSE(root[0].unread_exhausted());
  shares[1].set_unread(100);
  EXPECT_FALSE(shares[0].unread_exhausted());
  shares.pop_back();
  shares[0].set_unread(950);
  EXPECT_FALSE(shares[0].unread_exhausted()) << "answers of closed connections no longer count";
}

TEST(Admission, GivesTurnsToUsersAndNotToConnections) {
  const auto loop = EventLoop::create().value();
  Admission admission(kFew);
  auto many = admit(admission, reader(1000), 3);
  auto one = admit(admission, reader(1001), 1);
  std::vector<uid_t> turns;
  for (Admission::Share& share : many) share.wait_for_turn(*loop, [&] { turns.push_back(1000); });
  for (int i = 0; i < 2; ++i) one[0].wait_for_turn(*loop, [&] { turns.push_back(1001); });
  while (turns.size() < 5) ASSERT_TRUE(loop->run_once(std::chrono::milliseconds(100)));
  EXPECT_THAT(turns, testing::ElementsAre(1000, 1001, 1000, 1001, 1000));
}

}  // namespace
}  // namespace ktraced
