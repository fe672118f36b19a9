// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/failure_barrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <new>
#include <sstream>
#include <stdexcept>

#include "daemon/control/rpc.h"
#include "daemon/output/stream_recorder.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/work_thread.h"
#include "trace/packet/packet_builder.h"

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

[[noreturn]] void fail_unexpectedly() { throw std::runtime_error("a bug"); }

// The log of a test.
class Barrier : public testing::Test {
 protected:
  Barrier() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }
  ~Barrier() override { spdlog::set_default_logger(before_); }

  [[nodiscard]] std::string log() const { return log_.str(); }
  static Result<json> answer(Methods& methods, const std::string& method) {
    std::string line;
    const auto source = std::make_shared<RequestSource>(
        [&](std::string text, const Takeover&) { line = std::move(text); });
    const json request = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}};
    const Peer peer{.pid = 1, .uid = 0, .gid = 0, .role = Role::admin};
    methods.answer(request.dump(), peer, source);
    return json::parse(line);
  }

 private:
  std::ostringstream log_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(Barrier, CatchesAnExceptionAndLogsIt) {
  FailureBarrier barrier("here");
  EXPECT_TRUE(barrier.run([] {}));
  EXPECT_FALSE(barrier.run([] { throw std::bad_alloc(); }));
  EXPECT_THAT(log(), HasSubstr("here: out of memory"));
  EXPECT_FALSE(FailureBarrier("there").run([] { throw 1; }));  // NOLINT: of no std type
  EXPECT_THAT(log(), HasSubstr("there: internal error: an exception of an unknown type"));
}

TEST_F(Barrier, LimitsTheLogRateOfRepeatedFailures) {
  FailureBarrier barrier("here");
  for (int i = 0; i < 10'000; ++i) barrier.run(fail_unexpectedly);
  EXPECT_LT(std::ranges::count(log(), '\n'), 1000);
}

TEST_F(Barrier, RollbackLogsWhatItsUndoThrows) {
  EXPECT_THROW(
      {
        const Rollback rollback(fail_unexpectedly);
        throw std::bad_alloc();
      },
      std::bad_alloc);
  EXPECT_THAT(log(), HasSubstr("a rollback: internal error: a bug"));
}

TEST_F(Barrier, EventLoopContinuesAfterAFailedCallback) {
  auto loop = EventLoop::create().value();
  auto timer = loop->add_timer(0ms, fail_unexpectedly).value();
  ASSERT_TRUE(loop->run_once(1s).value());
  EXPECT_THAT(log(), HasSubstr("the event loop: internal error: a bug"));
  bool called = false;
  loop->post(fail_unexpectedly);
  loop->post([&] { called = true; });  // in the same loop iteration
  ASSERT_TRUE(loop->run_once(1s).value());
  EXPECT_TRUE(called);
}

TEST_F(Barrier, WorkThreadContinuesAfterAFailedTask) {
  bool called = false;
  {
    WorkThread thread("test");
    thread.run(fail_unexpectedly);
    thread.run([&] { called = true; });
  }
  EXPECT_TRUE(called);
  EXPECT_THAT(log(), HasSubstr("test: internal error: a bug"));
}

TEST_F(Barrier, AnswersAndLogsAFailedRequest) {
  Methods methods;
  methods.add("bug", Role::read, [](auto&, auto&, auto&) { fail_unexpectedly(); });
  methods.add("odd", Role::read, [](auto&, auto&, auto&) { throw 1; });  // NOLINT
  methods.add("large", Role::read, [](auto&, auto&, auto&) { throw std::bad_alloc(); });
  const json bug = answer(methods, "bug").value().at("error");
  EXPECT_EQ(bug.at("code"), -32603);
  EXPECT_EQ(bug.at("data").at("exit_code"), 70);
  EXPECT_THAT(log(), HasSubstr("a request failed: internal error: a bug"));
  EXPECT_EQ(answer(methods, "odd").value().at("error").at("code"), -32603);
  const json large = answer(methods, "large").value().at("error");
  EXPECT_EQ(large.at("message"), "out of memory");
}

TEST_F(Barrier, OutputThreadContinuesWithoutASeriesThatCannotBegin) {
  TraceFacts facts;
  facts.manifest = []() -> Manifest { fail_unexpectedly(); };
  facts.current_config = [] { return std::make_shared<const json>(); };
  facts.missed = [] { return HitCounts{}; };
  facts.follow_lost = [] { return uint64_t{0}; };
  facts.names = []() -> std::vector<std::byte> { return {}; };
  StreamRecorder recorder(facts);
  recorder.apply(StreamOutput{.directory = "/dev/null/none"});
  uint64_t sequence = 0;
  const auto names = build_metadata_packets(Uuid{}, sequence, {}, {});
  recorder.publish(names);
  recorder.apply(std::nullopt);
  recorder.finish();  // returns
}

}  // namespace
}  // namespace ktraced
