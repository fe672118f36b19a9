// SPDX-License-Identifier: BSD-2-Clause
// A day of rotation and retention on a simulated clock: files of the stream and snapshots, while
// the clock is set back and forward, and while the disk refuses writes.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/output/output_queue.h"
#include "daemon/output/retention.h"
#include "daemon/output/trace_order.h"
#include "daemon/output/trace_series.h"
#include "trace/directory/trace_reader.h"
#include "unit/daemon/output/fake_drain.h"
#include "unit/support/refusing_disk.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMinute = 60 * test::kSecond;
constexpr uint64_t kHour = 60 * kMinute;
// Beside the packets, of 1 MiB, there are the manifest and names.
constexpr uint64_t kFileBytesMax = (1U << 20) + (64U << 10);
constexpr uint32_t kFilesMax = 5;
constexpr Retention kSnapshotLimits = {.max_count = 10, .max_bytes = 200'000};

// Memory, if there is such a file system: the traces are synced very often.
class FastDirectory {
 public:
  FastDirectory() {
    std::error_code error;
    std::string name = fs::is_directory("/dev/shm", error) ? "/dev/shm/ktraced_test_XXXXXX"
                                                           : "/tmp/ktraced_test_XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  FastDirectory(const FastDirectory&) = delete;
  FastDirectory& operator=(const FastDirectory&) = delete;
  ~FastDirectory() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class SimulatedDay : public testing::Test {
 protected:
  // A finished trace of the stream.
  struct File {
    std::string name;
    uint64_t begin_ns = 0, end_ns = 0, records = 0, lost = 0;
    int64_t offset_ns = 0;
  };

  void SetUp() override {
    BeginSeries begin{.settings = {.directory = files(), .max_file_mb = 1, .max_files = kFilesMax},
                      .begin_ns = now_,
                      .missed = {},
                      .current_config = std::make_shared<const nlohmann::json>(),
                      .names = {}};
    begin_ns_ = now_;
    queue_.begin(std::move(begin));
    fs::create_directory(snapshots());
  }

  [[nodiscard]] fs::path files() const { return root_.path() / "files"; }
  [[nodiscard]] fs::path snapshots() const { return root_.path() / "snapshots"; }
  [[nodiscard]] uint64_t realtime() const { return now_ + static_cast<uint64_t>(offset_ns_); }

  TraceFacts facts() {
    return {.manifest =
                [this] {
                  Manifest manifest;
                  manifest.origin.uuid = Uuid{1, 2, 3};
                  manifest.origin.clock_offset_ns = offset_ns_;
                  manifest.taken_realtime_ns = realtime();
                  return manifest;
                },
            .current_config = nullptr,
            .missed = [] { return HitCounts(); },
            .follow_lost = [] { return 0; },
            .names = [] { return std::vector<std::byte>(); },
            .symbol = [](uint64_t) { return std::nullopt; },
            .realtime = [this] { return realtime(); }};
  }

  // The daemon ends its trace when the clock is set.
  void set_clock(int64_t by_ns) {
    offset_ns_ += by_ns;
    queue_.end_trace();
  }

  // A minute of the drain and of the writer.
  void pass_minute() {
    now_ += kMinute;
    const auto batch = drain_.batch(800, now_);
    queue_.push(batch);
    write_queued();
    if (now_ / kMinute % 10 == 0) take_snapshot();
  }

  // As the recorder's thread, but without waiting: what fails is repeated a minute later.
  void write_queued() {
    while (pending_ || queue_.queued_bytes() > 0) {
      if (!pending_) pending_ = queue_.next();
      if (!carry_out(*pending_)) return;
      pending_.reset();
    }
  }
  bool carry_out(OutputStep& step) {
    if (auto* begin = std::get_if<BeginSeries>(&step))
      series_ = std::make_unique<TraceSeries>(facts(), std::move(*begin));
    else if (std::holds_alternative<RotateTrace>(step))
      return finish_file();
    else if (auto* packet = std::get_if<PacketBytes>(&step))
      return take(**packet);
    return true;
  }
  bool take(const std::vector<std::byte>& packet) {
    const std::string before = series_->name();
    const auto taken = series_->take(PacketView::parse(packet).value(), queue_.max_files());
    failures_ += taken ? 0 : 1;
    queue_.set_carried(series_->carried_bytes());
    if (series_->name() != before) check_files();
    return taken.has_value();
  }
  bool finish_file() {
    const auto finished = series_->finish_trace();
    failures_ += finished ? 0 : 1;
    if (!finished) return false;
    if (finished_.empty() || finished_.back().name != series_->last_name()) note_file();
    return true;
  }
  void note_file() {
    const std::string& name = series_->last_name();
    if (name.empty()) return;
    const Manifest manifest = TraceReader::open(files() / name).value().manifest();
    finished_.push_back({.name = name,
                         .begin_ns = manifest.begin_ns,
                         .end_ns = manifest.end_ns,
                         .records = manifest.total().records,
                         .lost = manifest.total().lost,
                         .offset_ns = manifest.origin.clock_offset_ns});
  }

  // There are the newest files and no others, in the order in which they were written.
  void check_files() {
    const auto stored = TraceStore(files()).list().value();
    EXPECT_LE(stored.size() + (series_->name().empty() ? 0 : 1), kFilesMax);
    ASSERT_LE(stored.size(), finished_.size());
    for (size_t i = 0; i < stored.size(); ++i) {
      EXPECT_EQ(stored[i].name, finished_[finished_.size() - stored.size() + i].name);
      EXPECT_LE(stored[i].bytes, kFileBytesMax);
    }
  }

  void take_snapshot() {
    const std::string name = trace_name("snapshot", realtime(), [this](const std::string& taken) {
      return TraceStore(snapshots()).taken(taken);
    });
    test::TraceSpec spec;
    for (uint64_t i = 0; i < 1 + drain_.below(40); ++i)
      spec.packets.push_back(
          {.records = std::vector<test::Bytes>(drain_.below(80), test::bare_record(now_)),
           .lost = {},
           .begin = now_,
           .end = now_});
    auto written = write_snapshot(name, spec);
    refused_snapshots_ += written ? 0 : 1;
    if (!written) return;
    taken_snapshots_.push_back(name);
    const Enforced done = enforce(TraceStore(snapshots()), kSnapshotLimits, name);
    for (const Eviction& eviction : done.evicted) {
      EXPECT_EQ(eviction.name, taken_snapshots_.front()) << "the oldest";
      taken_snapshots_.erase(taken_snapshots_.begin());
    }
    check_snapshots();
  }
  Result<> write_snapshot(const std::string& name, const test::TraceSpec& spec) {
    auto writer = TraceWriter::create(
        snapshots() / name, spec.schema, spec.origin, [](uint64_t) { return false; },
        written_time_in(snapshots(), [this] { return realtime(); }));
    if (!writer) return propagate(writer);
    for (const test::PacketSpec& packet : spec.packets)
      if (auto done = (*writer)->write(*PacketView::parse(packet_of(packet, spec.origin))); !done)
        return done;
    Manifest manifest = test::manifest_of(**writer, spec);
    manifest.kind = TraceKind::snapshot;
    return (*writer)->finish(manifest, {});
  }
  void check_snapshots() {
    std::vector<std::string> names;
    uint64_t bytes = 0;
    for (const StoredTrace& trace : std::vector(TraceStore(snapshots()).list().value())) {
      names.push_back(trace.name);
      bytes += trace.bytes;
    }
    EXPECT_EQ(names, taken_snapshots_);
    EXPECT_LE(names.size(), kSnapshotLimits.max_count);
    EXPECT_LE(bytes, kSnapshotLimits.max_bytes);
  }

  // Ends the series, and counts everything.
  void end_day() {
    queue_.end();
    for (bool running = true; running;) {
      if (!pending_) pending_ = queue_.next();
      running = !std::holds_alternative<EndSeries>(*pending_);
      ASSERT_TRUE(carry_out(*pending_));
      pending_.reset();
    }
    ASSERT_TRUE(finish_file());
  }

  FastDirectory root_;
  uint64_t now_ = 5000 * kMinute;  // CLOCK_BOOTTIME
  int64_t offset_ns_ = 1'750'000'000'000'000'000;
  uint64_t begin_ns_ = 0;
  test::FakeDrain drain_{2, 24};
  OutputQueue queue_{300'000, 1U << 20};
  std::unique_ptr<TraceSeries> series_;
  std::optional<OutputStep> pending_;
  std::vector<File> finished_;
  std::vector<std::string> taken_snapshots_;  // that must exist, oldest first
  uint64_t failures_ = 0, refused_snapshots_ = 0;
};

TEST_F(SimulatedDay, KeepsTheNewestInOrderAndAccountsForEveryEvent) {
  std::vector<uint64_t> steps;
  for (uint64_t minute = 0; minute < 24 * 60; ++minute) {
    if (minute == 7 * 60) set_clock(-3 * static_cast<int64_t>(kHour));
    if (minute == 17 * 60) set_clock(25 * static_cast<int64_t>(kHour));
    if (minute == 7 * 60 || minute == 17 * 60) steps.push_back(now_);
    std::optional<test::RefusingDisk> refusing;
    if (minute >= 12 * 60 && minute < 13 * 60) refusing.emplace();
    pass_minute();
    if (HasFatalFailure()) return;
  }
  end_day();
  EXPECT_EQ(failures_, 60U) << "one attempt a minute";
  EXPECT_EQ(refused_snapshots_, 6U);
  EXPECT_GT(queue_.lost_events(), 0U);
  EXPECT_GT(finished_.size(), 4 * kFilesMax);

  uint64_t happened = 0, accounted = 0, lost = 0, next = begin_ns_;
  for (const auto& [cpu, counts] : drain_.happened())
    for (const auto& [event, count] : counts) happened += count;
  for (const File& file : finished_) {
    EXPECT_EQ(file.begin_ns, next) << file.name << " begins where the one before ends";
    next = file.end_ns + 1;
    accounted += file.records + file.lost;
    lost += file.lost;
    for (const uint64_t step : steps)
      EXPECT_TRUE(file.end_ns <= step || file.begin_ns > step) << file.name << " has one clock";
  }
  EXPECT_EQ(next, now_ + 1);
  EXPECT_EQ(accounted, happened);
  EXPECT_GE(lost, queue_.lost_events());
  EXPECT_EQ(finished_.front().offset_ns + 22 * static_cast<int64_t>(kHour),
            finished_.back().offset_ns);
  EXPECT_EQ(series_->counts().traces, finished_.size());
  EXPECT_EQ(series_->counts().evicted + TraceStore(files()).list().value().size(),
            finished_.size());
}

}  // namespace
}  // namespace ktraced
