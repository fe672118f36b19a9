// SPDX-License-Identifier: BSD-2-Clause
// What a member of control.group gets: pseudonyms of kernel addresses, and with readers_see "own"
// events of its own processes only.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <set>

#include "bpf/records.h"
#include "harness/client/daemon.h"
#include "harness/client/show.h"
#include "harness/machine/as_user.h"
#include "harness/machine/hidden_addresses.h"
#include "harness/traces/stack_truth.h"
#include "harness/traces/trace_files.h"
#include "schema/schema_json.h"
#include "trace/metadata/account_record.h"
#include "trace/metadata/stack_table.h"
#include "trace/packet/field_value.h"
#include "trace/packet/packet.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr uid_t kReader = 65534;
constexpr gid_t kReaders = 65534;  // nogroup
constexpr uint64_t kKernelSpace = 0xff00000000000000;

// A subscription, as a program of the reader or of root sees it.
class RawStream {
 public:
  RawStream(Daemon& daemon, uid_t uid, const json& request) {
    const auto open = [&] {
      connection_ = std::make_unique<RpcConnection>(daemon.socket());
      answer_ = connection_->call("stream.subscribe", request);
    };
    uid == 0 ? open() : as_user(uid, kReaders, open);
    if (answer_.contains("result")) schema_ = schema_from_json(answer_["result"]["schema"]).value();
  }

  [[nodiscard]] std::string error() const {
    return answer_.contains("error") ? answer_["error"]["message"].get<std::string>() : "";
  }
  [[nodiscard]] std::string name() const { return answer_["result"]["session"]; }

  void finish() {
    connection_->shut_down_writing();
    read();
  }
  // Reads to the end, which the daemon has to make.
  void read() {
    bytes_ = connection_->read_rest();
    std::span<const std::byte> rest = std::as_bytes(std::span(bytes_));
    while (!rest.empty()) {
      const auto packet = PacketView::parse(rest).value();
      const bool events = packet.header().stream_id == static_cast<uint32_t>(StreamId::events);
      packet.for_each_record(
          [&](const RecordView& view) { (events ? events_ : metadata_).push_back(view); });
      rest = rest.subspan(packet.bytes().size());
    }
  }

  [[nodiscard]] const std::vector<RecordView>& events() const { return events_; }
  [[nodiscard]] const std::vector<RecordView>& metadata() const { return metadata_; }
  [[nodiscard]] bool has_command_of(pid_t pid) const {
    return std::ranges::any_of(metadata_, [pid](const RecordView& view) {
      return view.id() == METADATA_command && view.tid() == static_cast<uint32_t>(pid);
    });
  }
  // The values of a field, with the times of their events.
  [[nodiscard]] std::multimap<uint64_t, uint64_t> values(const char* event,
                                                         const char* name) const {
    std::multimap<uint64_t, uint64_t> values;
    const Event& found = *schema_.find(std::string_view(event));
    const Field& field = *std::ranges::find(found.fields, name, &Field::name);
    for (const RecordView& view : events_)
      if (view.id() == found.id) values.emplace(view.ts(), integer_of(field, view).value());
    return values;
  }
  [[nodiscard]] const std::vector<Field>& fields(const RecordView& view) const {
    return schema_.find(view.id())->fields;
  }
  [[nodiscard]] size_t count(uint16_t event, pid_t tid) const {
    return static_cast<size_t>(std::ranges::count_if(events_, [&](const RecordView& view) {
      return view.id() == event && view.tid() == static_cast<uint32_t>(tid);
    }));
  }
  [[nodiscard]] std::set<uint64_t> distinct(const char* event, const char* name) const {
    std::set<uint64_t> distinct;
    for (const auto& [ts, value] : values(event, name)) distinct.insert(value);
    return distinct;
  }

 private:
  std::unique_ptr<RpcConnection> connection_;
  json answer_;
  Schema schema_;
  std::string bytes_;
  std::vector<RecordView> events_, metadata_;
};

// The answer to a reader.
json ask(Daemon& daemon, std::string_view method, const json& params = json::object()) {
  json answer;
  as_user(kReader, kReaders, [&] { answer = RpcConnection(daemon.socket()).call(method, params); });
  return answer;
}

std::string hex(uint64_t address) { return fmt::format("{:#x}", address); }

// The symbols of up to a hundred addresses.
std::set<std::string> symbols_for_reader(Daemon& daemon, const std::set<uint64_t>& addresses) {
  json texts = json::array();
  for (const uint64_t address : addresses)
    if (texts.size() < 100) texts.push_back(hex(address));
  std::set<std::string> symbols;
  const json answer = ask(daemon, "symbols.resolve", {{"addresses", texts}});
  for (const json& symbol : answer["result"]["symbols"]) symbols.insert(symbol);
  return symbols;
}

// Allocates slab objects and pages, with each pipe and each process.
Process allocating() { return Process({"sh", "-c", "while :; do : | :; done"}); }

// By this session.
uint64_t recorded(Daemon& daemon, const std::string& session, const std::string& event) {
  const json counts = daemon.call("session.show", {{"session", session}})["counts"];
  return counts.contains(event) ? counts[event]["recorded"].get<uint64_t>() : 0;
}

// How often a process has read.
uint64_t reads_of(pid_t pid) {
  std::ifstream counts(fmt::format("/proc/{}/io", pid));
  std::string key;
  for (uint64_t count = 0; counts >> key >> count;)
    if (key == "syscr:") return count;
  return 0;
}

json reader_config(json control = json::object()) {
  control["group"] = ::getgrgid(kReaders)->gr_name;
  return {{"control", std::move(control)}};
}

TEST(ReaderAccess, GivesPseudonymsToReadersAndAddressesToAdministrators) {
  const HiddenAddresses hidden;
  Daemon daemon(reader_config());
  const std::vector<std::string> memory = {"kmalloc", "kfree", "kmem_cache_alloc", "mm_page_free"};
  const json request = {{"events", memory}, {"filter", json::object()}};
  RawStream admin(daemon, 0, request), reader(daemon, kReader, request);
  const Process load = allocating();
  for (const RawStream* stream : {&admin, &reader})
    for (const std::string& event : memory)
      EXPECT_TRUE(eventually([&] { return recorded(daemon, stream->name(), event) > 1000; }));
  admin.finish();
  reader.finish();

  for (const auto& [event, field] :
       std::initializer_list<std::pair<const char*, const char*>>{{"kmalloc", "call_site"},
                                                                  {"kmalloc", "ptr"},
                                                                  {"kfree", "ptr"},
                                                                  {"mm_page_free", "page"}}) {
    ASSERT_THAT(reader.distinct(event, field), Not(IsEmpty())) << event;
    EXPECT_GE(*admin.distinct(event, field).rbegin(), kKernelSpace);
  }
  for (const RecordView& view : reader.events())
    for (const Field& field : reader.fields(view))
      if (field.size == sizeof(uint64_t)) {
        ASSERT_LT(integer_of(field, view).value(), kKernelSpace) << field.name;
      }
  for (const RecordView& view : reader.metadata())
    if (view.id() == METADATA_slab_cache) {
      uint64_t key = 0;
      std::memcpy(&key, view.bytes().data() + sizeof(record), sizeof(key));
      ASSERT_LT(key, kKernelSpace);
    }

  const auto allocated = reader.distinct("kmalloc", "ptr"), freed = reader.distinct("kfree", "ptr");
  std::vector<uint64_t> pairs;
  std::ranges::set_intersection(allocated, freed, std::back_inserter(pairs));
  EXPECT_GT(pairs.size(), 0U);

  const auto shown = symbols_for_reader(daemon, reader.distinct("kmalloc", "call_site"));
  EXPECT_THAT(shown, Not(IsEmpty()));
  EXPECT_THAT(symbols_for_reader(daemon, admin.distinct("kmalloc", "call_site")), IsEmpty())
      << "a reader who knows an address must not get it confirmed";
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// The modes and groups of a trace and of all that is in it.
void expect_readable_for_group(const fs::path& trace) {
  std::vector<fs::path> paths = {trace};
  for (const auto& entry : fs::recursive_directory_iterator(trace)) paths.push_back(entry.path());
  EXPECT_GE(paths.size(), 6U);
  for (const fs::path& path : paths) {
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, S_ISDIR(status.st_mode) ? 0750U : 0640U) << path;
    EXPECT_EQ(status.st_gid, kReaders) << path;
  }
}

// What the addresses in the kmalloc events of a snapshot begin with, and "symbol" if one has one.
std::set<std::string> addresses_of_snapshot(Daemon& daemon) {
  const json taken = daemon.call("snapshot.take");
  expect_readable_for_group(taken["path"].get<std::string>());
  std::set<std::string> found;
  for (const json& line : show({taken["path"], "--event", "kmalloc"}).lines) {
    if (!line.contains("args")) continue;
    found.insert(line["args"]["call_site"].get<std::string>().substr(0, 4));
    found.insert(line["args"]["ptr"].get<std::string>().substr(0, 4));
    if (line.dump().contains("+0x")) found.insert("symbol");
  }
  return found;
}

TEST(ReaderAccess, GivesSnapshotsToTheGroupWithTheAddressesThatItMaySee) {
  const HiddenAddresses hidden;
  json config = reader_config();
  config["events"] = {{"kmem", {"kmalloc", "kfree"}}};
  config["flight"] = {{"enabled", true}, {"buffer_kb", 64}};
  Daemon daemon(config);
  const Process load = allocating();
  const auto masked = addresses_of_snapshot(daemon);
  for (const char* expected : {"0xc0", "0xda", "symbol"}) EXPECT_TRUE(masked.contains(expected));
  EXPECT_FALSE(masked.contains("0xff"));
  config["control"]["addresses"] = "real";
  daemon.write_config(config);
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"control"}));
  const auto real = addresses_of_snapshot(daemon);
  for (const char* expected : {"0xff", "symbol"}) EXPECT_TRUE(real.contains(expected));
  EXPECT_FALSE(real.contains("0xda"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

std::string refusal(const json& answer) {
  return answer.contains("error") ? answer["error"]["message"].get<std::string>() : answer.dump();
}

TEST(ReaderAccess, ShowsReadersTheirOwnProcessesOnly) {
  json config = reader_config({{"readers_see", "own"}});
  config["flight"] = {{"enabled", true}, {"buffer_kb", 64}};
  Daemon daemon(config);
  daemon.enable({"sys_enter"});
  const RawStream admin(daemon, 0, {{"name", "of-root"}});
  RawStream reader(daemon, kReader, {{"events", {"sys_*", "sched"}}, {"name", "of-reader"}});
  ASSERT_EQ(reader.error(), "");
  EXPECT_EQ(daemon.call("session.show", {{"session", "of-reader"}})["filter"]["uid"],
            json::array({kReader}));
  daemon.call("filter.set", {{"session", "of-reader"}, {"filter", {{"uid", {0}}}}});
  const Command busy = {"dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none"};
  Command as_reader = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  as_reader.insert(as_reader.end(), busy.begin(), busy.end());
  const Process others(busy), own(as_reader);
  for (const Process* process : {&others, &own})
    EXPECT_TRUE(eventually([&] { return reads_of(process->pid()) > 1000; }));
  EXPECT_TRUE(eventually([&] { return recorded(daemon, "of-reader", "sys_enter") > 1000; }));
  reader.finish();
  EXPECT_GT(reader.count(EVENT_sys_enter, own.pid()), 0U);
  EXPECT_EQ(reader.count(EVENT_sys_enter, others.pid()), 0U);
  // The daemon waits a while for the command lines of all processes. Later streams have the rest.
  EXPECT_TRUE(eventually([&] {
    RawStream all(daemon, 0, json::object());
    all.finish();
    return all.has_command_of(own.pid()) && all.has_command_of(others.pid());
  }));
  EXPECT_TRUE(eventually([&] {
    RawStream later(daemon, kReader, json::object());
    later.finish();
    EXPECT_FALSE(later.has_command_of(others.pid())) << "neither are their arguments";
    EXPECT_FALSE(later.has_command_of(1));
    return later.has_command_of(own.pid());
  }));

  EXPECT_THAT(ask(daemon, "session.list").dump(), Not(HasSubstr("of-root")));
  EXPECT_THAT(ask(daemon, "status").dump(), Not(HasSubstr("of-root")));
  // As of a session that does not exist, but for its name.
  for (const char* method : {"session.show", "filter.show"}) {
    EXPECT_THAT(refusal(ask(daemon, method, {{"session", "of-root"}})),
                HasSubstr("there is no session 'of-root'"));
    EXPECT_THAT(refusal(ask(daemon, method, {{"session", "of-nobody"}})),
                HasSubstr("there is no session 'of-nobody'"));
  }
  EXPECT_THAT(refusal(ask(daemon, "snapshot.list")), HasSubstr("control.readers_see"));
  EXPECT_THAT(RawStream(daemon, kReader, {{"filter", {{"uid", {0}}}}}).error(),
              HasSubstr("control.readers_see"));
  EXPECT_THAT(RawStream(daemon, kReader, {{"events", {"irq:*"}}}).error(),
              HasSubstr("control.readers_see"));
  const fs::path snapshot = daemon.call("snapshot.take")["path"].get<std::string>();
  as_user(kReader, kReaders,
          [&] { EXPECT_NE(::access((snapshot / "manifest.json").c_str(), F_OK), 0); });
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Records of stacks and mappings.
bool is_user_record(const RecordView& view) {
  if (view.id() == RECORD_MAPPING) return true;
  return view.id() == RECORD_STACK && stack_of(view)->kind == StackKind::user;
}

// How many words of these records are near a function of the program.
size_t addresses_near(const json& report, const std::vector<RecordView>& records) {
  constexpr int kNear = 21;  // 2 MiB
  std::set<uint64_t> places;
  for (const auto& [name, function] : report["functions"].items())
    places.insert(function["begin"].get<uint64_t>() >> kNear);
  size_t count = 0;
  for (const RecordView& view : records) {
    if (!is_user_record(view)) continue;
    for (size_t at = sizeof(record); at + sizeof(uint64_t) <= view.bytes().size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, view.bytes().data() + at, sizeof(word));
      if (places.contains(word >> kNear)) ++count;
    }
  }
  return count;
}

std::set<uint64_t> user_stacks(const std::vector<RecordView>& records) {
  std::set<uint64_t> numbers;
  for (const RecordView& view : records) numbers.insert(view.stacks().user);
  numbers.erase(0);
  return numbers;
}

TEST(ReaderAccess, HidesUserAddressesInStacksFromReaders) {
  StackTruth truth({"call", "open=" + kStackLibrary, "through=library", "depth=5", "call",
                    "in=thread", "call", "in=child", "call"});
  Daemon daemon(stack_truth_config(truth.pid(), reader_config()));
  RawStream admin(daemon, 0, json::object()), reader(daemon, kReader, json::object());
  const json report = truth.finish().at(0);
  admin.finish();
  reader.finish();
  const auto shown = user_stacks(reader.events()), real = user_stacks(admin.events());
  EXPECT_GE(real.size(), 2U);
  EXPECT_EQ(shown.size(), real.size());
  for (const uint64_t number : shown)
    EXPECT_FALSE(real.contains(number)) << "by trying, it shows the addresses";
  EXPECT_GT(addresses_near(report, admin.events()), 0U);
  EXPECT_GT(std::ranges::count_if(reader.events(), is_user_record), 0);
  EXPECT_EQ(addresses_near(report, reader.events()), 0U);

  // In a trace, files and offsets are as exact as with the addresses.
  const fs::path taken = daemon.call("snapshot.take")["path"].get<std::string>();
  std::vector<std::vector<std::byte>> bytes;
  for_each_record(taken, [&](const RecordView& view) {
    bytes.emplace_back(view.bytes().begin(), view.bytes().end());
  });
  std::vector<RecordView> records;
  for (const auto& record : bytes) records.emplace_back(record.data());
  EXPECT_EQ(addresses_near(report, records), 0U);
  if (knows_files_of_stacks(daemon)) {
    EXPECT_TRUE(StackTrace(taken, StackTrace::Addresses::masked).has_files_of(report));
  }
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(ReaderAccess, ShowsNoStacksToReadersOfTheirOwnProcesses) {
  StackTruth truth({"call", "in=child", "call"});
  Daemon daemon(stack_truth_config(truth.pid(), reader_config({{"readers_see", "own"}})));
  RawStream reader(daemon, kReader, {{"events", {"sys_enter", "sched"}}});
  ASSERT_EQ(reader.error(), "");
  const json report = truth.finish().at(0);
  reader.finish();
  EXPECT_EQ(reader.count(EVENT_sys_enter, report["pid"].get<pid_t>()), 0U);
  EXPECT_EQ(addresses_near(report, reader.events()), 0U);
  EXPECT_THAT(user_stacks(reader.events()), IsEmpty());
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(ReaderAccess, LetsReadersSelectNeitherSamplesNorStacks) {
  Daemon daemon(reader_config());
  const auto refusal = [&](const json& request) {
    const json answer = ask(daemon, "stream.subscribe", request);
    EXPECT_EQ(answer["error"]["data"]["exit_code"], 77) << answer;
    return answer["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refusal({{"events", {"sched_switch"}}, {"stacks", {"sched_switch"}}}),
              StartsWith("stacks are for administrators: "));
  for (const char* name : {"cpu_sample", "sampling"})
    EXPECT_THAT(refusal({{"events", {name}}}),
                StartsWith(fmt::format("'{}' has stacks of all users' processes: only "
                                       "administrators may select it; ",
                                       name)));
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 0U) << "a session was made";
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(ReaderAccess, EndsSessionsThatShowMoreThanReadersMaySeeNow) {
  Daemon daemon(reader_config());
  RawStream reader(daemon, kReader, {{"events", {"sched"}}});
  ASSERT_EQ(reader.error(), "");
  daemon.write_config(reader_config({{"readers_see", "own"}}));
  daemon.call("reload");
  reader.read();
  ASSERT_THAT(reader.metadata(), Not(IsEmpty()));
  EXPECT_THAT(end_reason_of(reader.metadata().back()).value_or(""),
              HasSubstr("control.readers_see"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(ReaderAccess, EndsWithItsRule) {
  constexpr uid_t kOperator = 54321;
  Daemon daemon(reader_config({{"admin_uids", {kOperator}}}));
  RawStream stream(daemon, kOperator, {{"events", {"sched"}}});
  RawStream reading(daemon, kReader, {{"events", {"sched"}}});
  ASSERT_EQ(stream.error() + reading.error(), "");
  std::unique_ptr<RpcConnection> connection;
  as_user(kOperator, kReaders,
          [&] { connection = std::make_unique<RpcConnection>(daemon.socket()); });
  EXPECT_TRUE(connection->call("pause").contains("result"));
  EXPECT_TRUE(connection->call("resume").contains("result"));
  daemon.write_config(reader_config());
  daemon.call("reload");
  EXPECT_THAT(connection->call("pause")["error"]["message"].get<std::string>(),
              HasSubstr("administrators"));
  EXPECT_TRUE(connection->call("status").contains("result")) << "he is in the group";
  stream.read();
  ASSERT_THAT(stream.metadata(), Not(IsEmpty()));
  EXPECT_THAT(end_reason_of(stream.metadata().back()).value_or(""),
              HasSubstr("control.admin_uids"));
  reading.finish();
  EXPECT_GT(reading.events().size(), 0U) << "nothing has changed for readers";
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Looking them up takes a time that nobody knows.
TEST(ReaderAccess, FiltersByNumbersOfUsersOnly) {
  Daemon daemon(reader_config());
  for (const json& filter :
       {json{{"uid", {1, "nobody"}}}, json{{"exclude", {{"uid", {"nobody"}}}}}})
    EXPECT_THAT(ask(daemon, "stream.subscribe", {{"filter", filter}})["error"]["message"]
                    .get<std::string>(),
                HasSubstr("write the uid of 'nobody'"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
