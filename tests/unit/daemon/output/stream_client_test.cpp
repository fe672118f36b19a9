// SPDX-License-Identifier: BSD-2-Clause
// The client of docs/examples against the real server with a made-up trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "daemon/control/control_server.h"
#include "daemon/output/subscribers.h"
#include "kernel/programs/bpf_object.h"
#include "schema/schema_from_btf.h"
#include "schema/schema_json.h"
#include "trace/packet/packet_builder.h"
#include "trace/packet/protocol_version.h"
#include "unit/support/never.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

template <class Record>
std::span<const std::byte> bytes_of(const Record& record) {
  return std::as_bytes(std::span(&record, 1));
}

class StreamClientTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/ktraced-test-XXXXXX";
    directory = ::mkdtemp(name);
    subscribers =
        Subscribers::create(*loop, {.finish = [this](uint32_t) { publish_end(); }}).value();
    server = ControlServer::listen(*loop, directory / "s", AccessRules{}).value();
    server->add(
        "stream.subscribe", Role::read, [this](const json&, const Peer&, const Reply& reply) {
          reply.hand_over(
              {{"protocol", kProtocolVersion}, {"uuid", "0"}, {"schema", schema_to_json(schema)}},
              [this](Fd fd, const Peer& peer) {
                ASSERT_TRUE(subscribers->add(std::move(fd),
                                             {.session = 2, .peer = peer, .keep = nullptr},
                                             [this] { return first_names(); }));
                publish_events();
              });
        });
  }
  void TearDown() override { fs::remove_all(directory); }

  // Runs the client to its end; returns the lines of its output.
  std::vector<json> run(const std::string& options) {
    std::string command = fmt::format(
        "timeout {} python3 {}/docs/examples/stream_client.py "
        "--socket {}/s {} 2>&1",
        test::kNever.count(), KTRACED_SOURCE_DIR, directory.string(), options);
    std::string output;
    std::atomic<bool> done = false;
    std::thread client([&] {
      std::array<char, 4096> chunk;
      FILE* pipe = ::popen(command.c_str(), "r");
      while (size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe))
        output.append(chunk.data(), got);
      EXPECT_EQ(::pclose(pipe), 0);
      done = true;
    });
    while (!done) EXPECT_TRUE(loop->run_once(std::chrono::milliseconds(10)));
    client.join();
    std::vector<json> lines;
    std::istringstream in(output);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(json::parse(line, nullptr, false));
      EXPECT_FALSE(lines.back().is_discarded()) << line;
    }
    return lines;
  }

  std::vector<PacketBytes> first_names() {
    rec_metadata_task task{.h = {.ts = 0, .id = METADATA_task, .size = sizeof(task), .tid = 7},
                           .tgid = 5,
                           .uid = 0,
                           .start_time = 0,
                           .comm = "before"};
    return {build_metadata_packet(uuid, 0, 0, bytes_of(task))};
  }
  void publish_events() {
    PacketBuilder cpu0(uuid, 0, 0), cpu1(uuid, 1, 0);
    rec_kmem_cache_alloc alloc{};
    alloc.h = {.ts = 200, .id = EVENT_kmem_cache_alloc, .size = sizeof(alloc), .tid = 7};
    alloc.ptr = 0xffff888000000000;
    alloc.name = 77;
    alloc.node = -1;
    cpu0.add(bytes_of(alloc));
    alloc.h.ts = 500;
    Lost lost{.count = 3, .event_id = EVENT_kfree, .reserved = 0};
    cpu0.lose({&lost, 1});
    cpu0.add(bytes_of(alloc));

    std::array<std::byte, sizeof(rec_sched_process_exec) + 16> exec_bytes{};
    rec_sched_process_exec exec{};
    exec.h = {.ts = 300, .id = EVENT_sched_process_exec, .size = exec_bytes.size(), .tid = 7};
    exec.pid = 7;
    std::memcpy(exec_bytes.data(), &exec, sizeof(exec));
    std::memcpy(exec_bytes.data() + sizeof(exec), "/bin/true", 10);
    cpu1.add(exec_bytes);

    rec_metadata_task task{.h = {.ts = 300, .id = METADATA_task, .size = sizeof(task), .tid = 7},
                           .tgid = 5,
                           .uid = 0,
                           .start_time = 0,
                           .comm = "after"};
    rec_metadata_slab_cache cache{
        .h = {.ts = 1, .id = METADATA_slab_cache, .size = sizeof(cache), .tid = 0},
        .cache = 77,
        .name = "dentry"};
    std::vector<std::byte> names;
    for (auto bytes : {bytes_of(task), bytes_of(cache)})
      names.insert(names.end(), bytes.begin(), bytes.end());

    std::vector<PacketBytes> batch;
    cpu1.take(UINT64_MAX, batch);
    cpu0.take(UINT64_MAX, batch);
    batch.push_back(build_metadata_packet(uuid, 1, 400, names));  // 500 is after the watermark
    subscribers->publish(2, batch);
    subscribers->publish(2, std::array{build_metadata_packet(uuid, 2, 600, {})});
  }
  void publish_end() {
    subscribers->publish(2, std::array{build_metadata_packet(uuid, 3, boottime_ns(), {})}, true);
  }

  Uuid uuid{1};
  fs::path directory;
  Schema schema = schema_from_object(bpf_object_bytes()).value();
  std::unique_ptr<EventLoop> loop = EventLoop::create().value();
  std::unique_ptr<Subscribers> subscribers;
  std::unique_ptr<ControlServer> server;
};

TEST_F(StreamClientTest, PrintsEventsOfAllCpusInOrderWithNamesAndLosses) {
  auto lines = run("--count 4");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].at("ts"), 200);
  EXPECT_EQ(lines[0].at("event"), "kmem_cache_alloc");
  EXPECT_EQ(lines[0].at("comm"), "before");
  EXPECT_EQ(lines[0].at("pid"), 5);
  EXPECT_EQ(lines[0].at("tid"), 7);
  EXPECT_EQ(lines[0].at("args").at("name"), "dentry");
  EXPECT_EQ(lines[0].at("args").at("ptr"), "0xffff888000000000");
  EXPECT_EQ(lines[0].at("args").at("node"), -1);
  EXPECT_EQ(lines[1].at("cpu"), 1);
  EXPECT_EQ(lines[1].at("comm"), "after");
  EXPECT_EQ(lines[1].at("args").at("filename"), "/bin/true");
  EXPECT_EQ(lines[2], json::parse(R"({"ts":500,"cpu":0,"lost":3,"event":"kfree"})"));
  EXPECT_EQ(lines[3].at("ts"), 500);
}

TEST_F(StreamClientTest, StopsAtTheGivenCount) { EXPECT_EQ(run("--count 2").size(), 2U); }

TEST_F(StreamClientTest, EndsAfterTheDuration) { EXPECT_EQ(run("--duration 0").size(), 4U); }

TEST(StreamClient, ReportsInOneLineThatNoDaemonAnswers) {
  const std::string command = fmt::format(
      "python3 {}/docs/examples/stream_client.py --socket /nonexistent 2>&1", KTRACED_SOURCE_DIR);
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> text{};
  const size_t size = std::fread(text.data(), 1, text.size(), pipe);
  EXPECT_NE(::pclose(pipe), 0);
  EXPECT_EQ(std::string_view(text.data(), size),
            "stream_client: cannot connect to /nonexistent: No such file or directory; is ktraced "
            "running, and may you read there?\n");
}

TEST(ProtocolDoc, ContainsTheCurrentClient) {
  auto content = [](const char* file) {
    std::ifstream in(fs::path(KTRACED_SOURCE_DIR) / file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_THAT(
      content("docs/protocol.md"),
      testing::HasSubstr("```python\n" + content("docs/examples/stream_client.py") + "```\n"));
}

}  // namespace
}  // namespace ktraced
