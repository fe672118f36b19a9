// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl show` without a daemon, root, permission or much memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/client/show.h"
#include "harness/traces/numbers.h"
#include "trace/directory/trace_writer.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// With the daemon's modes: no access for others. Those who have access need no daemon and no root.
TEST(Show, ReportsWhoMayReadWithoutPermission) {
  constexpr gid_t kGroup = 65534;  // of nobody
  Daemon daemon(json{{"events", numbered_calls()}});
  const fs::path path = daemon.directory() / "recording";
  ASSERT_EQ(daemon.ctl({"record", "-o", path, "--", kTruthProgram, "numbered", "10"}).exit_code, 0);
  auto show_as = [&](gid_t group) {
    return run({"setpriv", "--reuid=65534", fmt::format("--regid={}", group), "--clear-groups",
                kClientProgram, "--socket", "/nonexistent", "show", path, "--event", "sys_enter"});
  };
  Finished refused = show_as(kGroup);
  EXPECT_EQ(refused.exit_code, 77);
  EXPECT_EQ(refused.err,
            fmt::format("ktracectl: no permission to read {}: run as root\n", path.string()));

  ASSERT_EQ(::chown(path.c_str(), 0, kGroup), 0);
  for (const auto& entry : fs::recursive_directory_iterator(path))
    ASSERT_EQ(::chown(entry.path().c_str(), 0, kGroup), 0);
  const Finished shown = show_as(kGroup);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr("10 events shown"));
  refused = show_as(kGroup - 1);
  EXPECT_EQ(refused.exit_code, 77);
  EXPECT_THAT(refused.err, HasSubstr("run as root or as a member of the group 'nogroup'"));

  // Its parent directory, with the mode of /var/lib/ktraced/snapshots.
  fs::permissions(daemon.directory(), fs::perms::owner_all);
  refused = show_as(kGroup);
  EXPECT_EQ(refused.exit_code, 77);
  EXPECT_THAT(refused.err,
              HasSubstr(fmt::format("no permission to read {}: run as root\n", path.string())));
}

// A trace of `mib` MiB with four CPUs, made by hand; returns the number of its records.
uint64_t write_large_trace(const fs::path& path, uint64_t mib) {
  constexpr size_t kPacket = 1U << 20, kCpus = 4;
  constexpr uint64_t kRecords = kPacket / sizeof(rec_kfree);
  Schema schema;
  schema.add({.id = EVENT_kfree,
              .name = "kfree",
              .fields = {{.name = "ptr",
                          .type = "u64",
                          .offset = offsetof(rec_kfree, ptr),
                          .size = sizeof(u64)}},
              .size = sizeof(rec_kfree)});
  TraceOrigin origin{.host = "test", .kernel = "test", .boot_id = "test"};
  auto writer = TraceWriter::create(path, schema, origin, [](uint64_t) { return false; });
  if (!writer) throw std::runtime_error(writer.error().message);
  std::vector<std::byte> bytes(sizeof(PacketHeader) + kRecords * sizeof(rec_kfree));
  uint64_t ts = 0;
  for (uint64_t packet = 0; packet < mib; ++packet) {
    PacketHeader header{};
    header.magic = kPacketMagic;
    header.timestamp_begin = ts + 1;
    for (uint64_t i = 0; i < kRecords; ++i) {
      rec_kfree record{.h = {.ts = ++ts, .id = EVENT_kfree, .size = sizeof(record), .tid = 1},
                       .call_site = 0,
                       .ptr = ts};
      std::memcpy(bytes.data() + sizeof(header) + i * sizeof(record), &record, sizeof(record));
    }
    header.timestamp_end = ts;
    header.content_size = header.packet_size = bytes.size() * 8;
    header.cpu_id = packet % kCpus;
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (auto done = (*writer)->write(*PacketView::parse(bytes)); !done)
      throw std::runtime_error(done.error().message);
  }
  Manifest manifest;
  manifest.origin = origin;
  manifest.begin_ns = 1;
  manifest.end_ns = ts;
  manifest.cpus = (*writer)->accounts();
  manifest.schema = schema;
  if (auto done = (*writer)->finish(manifest, {}); !done)
    throw std::runtime_error(done.error().message);
  return ts;
}

// Runs a shell command with a limit, in MiB, of private memory (heap, stacks, private mappings).
// Files mapped for reading do not count, and `show` does not map them.
Finished run_with_memory(uint64_t mib, const std::string& command) {
  return run({"sh", "-c", fmt::format("ulimit -d {}; {}", mib * 1024, command)});
}

TEST(Show, ReadsATraceLargerThanItsMemory) {
  constexpr uint64_t kMemory = 24, kTrace = 4 * kMemory;  // MiB; one CPU's file has kMemory
  TempDir directory;
  const fs::path path = directory.path() / "large";
  const uint64_t records = write_large_trace(path, kTrace);
  Finished refused = run_with_memory(
      kMemory,
      fmt::format("dd if={}/ctf/cpu0 of=/dev/null bs={}M count=1", path.string(), kMemory));
  ASSERT_NE(refused.exit_code, 0) << "the limit allows what it is to prevent";

  const std::string command = fmt::format("{} show {}", kClientProgram, path.string());
  Finished counted = run_with_memory(kMemory, command + " --count-only");
  ASSERT_EQ(counted.exit_code, 0) << counted.err;
  EXPECT_EQ(json::parse(counted.out)["events"], records);
  for (const char* format : {"json", "ftrace"}) {
    Finished shown =
        run_with_memory(kMemory, fmt::format("{} --format {} >/dev/null", command, format));
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.err, HasSubstr(fmt::format("{} events shown, 0 lost", records)));
  }
}

}  // namespace
}  // namespace ktraced::live
