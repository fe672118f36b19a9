// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/background_call.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "unit/ctl/live/fake_daemon.h"
#include "unit/support/never.h"

namespace ktraced {
namespace {

bool becomes_readable(int fd) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, test::kNeverMs) == 1;
}

TEST(BackgroundCall, NotifiesAndReturnsItsResultOnce) {
  const Fd notified(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  BackgroundCall<int> call(notified.get());
  EXPECT_FALSE(call.running());
  EXPECT_FALSE(call.take());
  for (const int expected : {1, 2}) {
    call.start([expected](CallHandle&) { return Result<int>(expected); });
    EXPECT_TRUE(call.running());
    ASSERT_TRUE(becomes_readable(notified.get()));
    eventfd_t count = 0;
    ::eventfd_read(notified.get(), &count);
    const auto result = call.take();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(**result, expected);
    EXPECT_FALSE(call.running());
    EXPECT_FALSE(call.take());
  }
}

TEST(BackgroundCall, EndsACallThatIsNotAnsweredWhenItIsDestroyed) {
  const Fd notified(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const Fd asked(::eventfd(0, EFD_CLOEXEC));
  test::FakeDaemon daemon([&asked](test::Peer& peer) {
    peer.read_line();
    ::eventfd_write(asked.get(), 1);
    peer.wait_for_end();
  });
  BackgroundCall<nlohmann::json> call(notified.get());
  call.start([&daemon](CallHandle& handle) -> Result<nlohmann::json> {
    auto client = RpcClient::connect(daemon.socket());
    if (!client) return propagate(client);
    handle.watch(*client);
    return client->call("status");
  });
  ASSERT_TRUE(becomes_readable(asked.get()));
}

}  // namespace
}  // namespace ktraced
