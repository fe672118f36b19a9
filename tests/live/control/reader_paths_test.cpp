// SPDX-License-Identifier: BSD-2-Clause
// What readers, and users without a role, get in files, answers and metrics. reader_access_test.cpp
// is about streams and the content of events.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>

#include "harness/client/daemon.h"
#include "harness/client/stream_output.h"
#include "harness/machine/as_user.h"
#include "harness/machine/hidden_addresses.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kMember = 65534, kStranger = 65533;
constexpr gid_t kMembers = 65534, kStrangers = 65533;

// Of the kernel's code, or of its map of all memory. The rest of the kernel's half has numbers of
// 32 bits beside negative ones, too.
bool is_address_of_kernel(uint64_t value) {
  return (value >= 0xffffffff81000000 && value < 0xffffffffff000000) ||
         (value >= 0xffff888000000000 && value < 0xffffea0000000000);
}

// The first address written in hexadecimal; empty: none.
std::string address_in_text(std::string_view text) {
  constexpr size_t kDigits = 16;
  for (size_t at = 0; at + kDigits <= text.size(); ++at) {
    const std::string digits(text.substr(at, kDigits));
    if (digits.starts_with("ffff") && std::ranges::all_of(digits, ::isxdigit) &&
        is_address_of_kernel(std::stoull(digits, nullptr, 16)))
      return digits;
  }
  return "";
}

// Numbers of 64 bits that are aligned, as in the records of a packet.
size_t addresses_in_words(std::string_view bytes) {
  size_t found = 0;
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    found += is_address_of_kernel(word) ? 1 : 0;
  }
  return found;
}

// Nothing: this user may not open it.
std::optional<std::string> content_for(uid_t uid, gid_t gid, const fs::path& path) {
  std::optional<std::string> content;
  as_user(uid, gid, [&] {
    std::ifstream file(path, std::ios::binary);
    if (file)
      content.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  });
  return content;
}

std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

// What the user gets on a socket that it may connect to.
std::string answer_for(uid_t uid, gid_t gid, const std::string& socket,
                       const std::string& request) {
  std::string answer;
  as_user(uid, gid, [&] {
    if (!RpcConnection::answers(socket)) return;
    RpcConnection connection(socket);
    connection.send_bytes(request);
    connection.shut_down_writing();
    answer = connection.read_rest();
  });
  return answer;
}

class ReaderPaths : public testing::Test {
 protected:
  // Records allocations into the flight recorder, and into files that are finished at once.
  json config(json control = json::object()) const {
    json config = output_config(directory_.path() / "stream");
    control["group"] = ::getgrgid(kMembers)->gr_name;
    config["control"] = std::move(control);
    config["events"] = {{"kmem", {"kmalloc", "kfree"}}, {"sched", true}};
    config["flight"] = {{"enabled", true}, {"buffer_kb", 64}};
    config["metrics"] = {{"listen", metrics()}};
    return config;
  }
  [[nodiscard]] std::string metrics() const { return directory_.path() / "metrics.sock"; }
  // A snapshot, and the traces of the stream.
  [[nodiscard]] std::vector<fs::path> traces(Daemon& daemon) const {
    const Process load({"sh", "-c", "while :; do : | :; done"});
    EXPECT_TRUE(eventually([&] { return !traces_in(directory_.path() / "stream", true).empty(); }));
    std::vector<fs::path> traces = {daemon.call("snapshot.take")["path"].get<std::string>()};
    daemon.call("reload");
    for (const fs::path& trace : traces_in(directory_.path() / "stream", true))
      traces.push_back(trace);
    return traces;
  }

 private:
  TempDir directory_;
};

TEST_F(ReaderPaths, LeadToNoAddressAndStrangersNowhere) {
  const HiddenAddresses hidden;
  Daemon daemon(config());
  size_t files = 0;
  for (const fs::path& trace : traces(daemon))
    for (const fs::path& file : files_below(trace)) {
      ++files;
      EXPECT_FALSE(content_for(kStranger, kStrangers, file)) << file;
      const auto content = content_for(kMember, kMembers, file);
      ASSERT_TRUE(content) << file;
      EXPECT_EQ(address_in_text(*content), "") << file;
      EXPECT_EQ(addresses_in_words(*content), 0U) << file;
    }
  EXPECT_GE(files, 10U);

  std::string requests;
  for (const char* request :
       {R"("version")", R"("status")", R"("events.list","params":{"tracepoints":["sched:*"]})",
        R"("session.list")", R"("session.show","params":{"session":"recorder"})",
        R"("filter.show")", R"("probe.list")", R"("snapshot.list")",
        R"("symbols.resolve","params":{"addresses":["0xffffffff81000000"]})",
        R"("no_such_0xffffffff81000123")"})
    requests += fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":{}}})"
                            "\n",
                            request);
  const std::string answers = answer_for(kMember, kMembers, daemon.socket(), requests);
  EXPECT_EQ(std::ranges::count(answers, '\n'), 10);
  EXPECT_EQ(address_in_text(answers), "");
  EXPECT_EQ(answer_for(kStranger, kStrangers, daemon.socket(), requests), "");

  const std::string get = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string shown = answer_for(kMember, kMembers, metrics(), get);
  EXPECT_THAT(shown, testing::HasSubstr("ktraced_build_info"));
  EXPECT_EQ(address_in_text(shown), "");
  EXPECT_EQ(answer_for(kStranger, kStrangers, metrics(), get), "");
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Otherwise the test above would find nothing whatever is there.
TEST_F(ReaderPaths, LeadToAddressesIfReadersMaySeeThem) {
  Daemon daemon(config({{"addresses", "real"}}));
  size_t found = 0;
  for (const fs::path& trace : traces(daemon))
    for (const fs::path& file : files_below(trace))
      found += addresses_in_words(content_for(kMember, kMembers, file).value_or(""));
  EXPECT_GT(found, 100U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST_F(ReaderPaths, LeadToNoFilesOfOthersEvents) {
  Daemon daemon(config({{"readers_see", "own"}}));
  size_t files = 0;
  for (const fs::path& trace : traces(daemon))
    for (const fs::path& file : files_below(trace)) {
      ++files;
      EXPECT_FALSE(content_for(kMember, kMembers, file)) << file;
    }
  EXPECT_GE(files, 10U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
