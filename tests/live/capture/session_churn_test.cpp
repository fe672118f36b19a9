// SPDX-License-Identifier: BSD-2-Clause
// Clients that come and go in a loop leave nothing behind, and the recorder misses nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "harness/client/daemon.h"
#include "harness/client/rpc.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/memory.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

constexpr int kClients = 64;
// What the allocator keeps of the peak: 6 sessions with queues and packets, 64 connections. What
// each of thousands of clients would leave is far more: a session alone has 16 KiB of tables.
constexpr size_t kMayGrowKb = 24U << 10;

size_t descriptors_of(pid_t pid) {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// One client after the other; each dies at a random point of its subscription.
class ShortLivedClients {
 public:
  // `subscribed` counts those that got a session, of all who share it.
  ShortLivedClients(const std::string& socket, unsigned seed, std::atomic<size_t>& subscribed)
      : socket_(socket), random_(seed), subscribed_(subscribed) {}

  void run_until_subscribed(size_t count) {
    while (subscribed_ < count) one(kinds_[random_() % kinds_.size()]);
  }
  // Each kind of client once.
  void each() {
    for (const Kind kind : kinds_)
      for (size_t events = 0; events < kEvents.size(); ++events) one(kind, events);
  }
  [[nodiscard]] size_t refused() const { return refused_; }

 private:
  enum class Kind { connects, sends_a_part, does_not_wait, reads_a_little, does_not_read, ends };
  static constexpr std::array kinds_{Kind::connects,       Kind::sends_a_part,  Kind::does_not_wait,
                                     Kind::reads_a_little, Kind::does_not_read, Kind::ends};
  inline static const std::vector<json> kEvents{json::array({"sys_enter"}), json::array({"sched"}),
                                                json::array({"kmalloc", "kfree"}),
                                                json::array({"irq:softirq_entry"})};

  void one(Kind kind) { one(kind, random_() % kEvents.size()); }
  void one(Kind kind, size_t events) {
    RpcConnection client(socket_);
    if (kind == Kind::connects) return;
    json params = {{"events", kEvents[events]}, {"buffer_kb", 64U << random_() % 4}};
    if (random_() % 2 == 0) params["filter"] = {{"comm", {"truth"}}};
    const std::string request =
        json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "stream.subscribe"}, {"params", params}}
            .dump() +
        "\n";
    if (kind == Kind::sends_a_part) {
      client.send_bytes(request.substr(0, request.size() / 2));
      return;
    }
    client.send_bytes(request);
    if (kind == Kind::does_not_wait)
      return std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 20));
    const auto answer = client.read_line();
    if (!answer || !json::parse(*answer).contains("result")) {
      ++refused_;
      return;
    }
    ++subscribed_;
    if (kind == Kind::reads_a_little)
      client.closed_within(std::chrono::milliseconds(random_() % 20));
    if (kind == Kind::does_not_read)
      std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 20));
    if (kind == Kind::ends) {
      client.shut_down_writing();
      EXPECT_TRUE(client.closed_within(kNever));
    }
  }

  std::string socket_;
  std::mt19937 random_;
  std::atomic<size_t>& subscribed_;
  size_t refused_ = 0;
};

// What a daemon uses.
struct Used {
  explicit Used(Daemon& daemon)
      : objects(bpf_objects_of(daemon.pid())),
        descriptors(descriptors_of(daemon.pid())),
        resident_kb(resident_kb_beside_rings(daemon.pid())) {}
  BpfObjects objects;
  size_t descriptors;
  size_t resident_kb;
};

testing::AssertionResult no_more_than(const Used& now, const Used& before) {
  const auto numbers = [](const Used& used) {
    return fmt::format("{} programs, {} maps, {} links, {} descriptors, {} KiB",
                       used.objects.programs.size(), used.objects.maps.size(),
                       used.objects.links.size(), used.descriptors, used.resident_kb);
  };
  if (now.objects.programs == before.objects.programs && now.objects.maps == before.objects.maps &&
      now.objects.links.size() == before.objects.links.size() &&
      now.descriptors <= before.descriptors && now.resident_kb <= before.resident_kb + kMayGrowKb)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << numbers(now) << ", before " << numbers(before);
}

class SessionChurn : public testing::Test {
 protected:
  json config() {
    json config = flight_config_for({numbered.pid()}, {{"buffer_kb", 16384}, {"max_snapshots", 3}});
    config["stream"] = {{"total_mb", 16}};
    return config;
  }
  void wait_until_all_have_gone() {
    EXPECT_TRUE(eventually([&] { return daemon.call("session.list")["sessions"].size() == 1; }));
    EXPECT_EQ(daemon.call("status")["stream"]["total_bytes"], 0);
    EXPECT_TRUE(daemon.call("status")["subscribers"].empty());
  }
  // Takes a snapshot; the numbered calls in it continue those before.
  void take() {
    const json taken = daemon.call("snapshot.take");
    EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
    const std::string path = taken["path"];
    missed_ += manifest_of(path)["missed"].value("sys_enter", uint64_t{0});
    const auto numbers = numbers_in(path, numbered.pid());
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }

  WaitingTruth numbered{{"numbered", "0", "50"}};
  Daemon daemon{config()};
  std::vector<uint64_t> numbers_;
  uint64_t missed_ = 0;
};

TEST_F(SessionChurn, LeavesNothingBehindAndNoGapInTheRecorder) {
  // What is kept once: programs of dynamic events, formats, buffers.
  std::atomic<size_t> subscribed = 0, refused = 0;
  ShortLivedClients(daemon.socket(), 1, subscribed).each();
  daemon.call("snapshot.take");
  wait_until_all_have_gone();
  const Used before(daemon);

  numbered.go();
  const size_t enough = subscribed + static_cast<size_t>(scaled(usual_or_whole(60, 400)));
  {
    std::vector<std::jthread> clients;
    for (unsigned seed = 1; seed <= kClients; ++seed)
      clients.emplace_back([&, seed] {
        ShortLivedClients client(daemon.socket(), seed, subscribed);
        client.run_until_subscribed(enough);
        refused += client.refused();
      });
    while (subscribed < enough) take();
  }
  const uint64_t calls = numbered.finish()["count"];
  take();
  expect_all_but_missed(numbers_, 1, calls, missed_);
  RecordProperty("subscribed", std::to_string(subscribed));
  RecordProperty("refused", std::to_string(refused));

  wait_until_all_have_gone();
  EXPECT_TRUE(eventually([&] { return bool(no_more_than(Used(daemon), before)); }))
      << no_more_than(Used(daemon), before).message();
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
