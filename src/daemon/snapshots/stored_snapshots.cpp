// SPDX-License-Identifier: BSD-2-Clause
// The snapshots on disk: listed, counted, kept and deleted.
#include "daemon/snapshots/snapshots.h"

namespace ktraced {
namespace {

// How long `status` waits for manifests to be read.
constexpr std::chrono::milliseconds kStatusWaits{50};

}  // namespace

Result<> Snapshots::remove(const std::string& name, OnDone on_deleted) {
  if (auto checked = check_trace_name(name); !checked) return checked;
  if (writing(name))
    return fail(ExitCode::usage, "the snapshot '{}' is being written: delete it when it is done",
                name);
  // One thread writes, keeps and removes snapshots, so that removals never race with the others.
  thread_.run([name, store = store_] { return remove_snapshot(*store, name); },
              std::move(on_deleted));
  return {};
}

void Snapshots::set_kept(const std::string& name, bool kept, OnDone on_done) {
  thread_.run([name, kept, store = store_] { return keep_snapshot(*store, name, kept); },
              std::move(on_done));
}

void Snapshots::list(OnListed then, Priority priority) {
  using Entries = std::vector<SnapshotEntry>;
  reader_.run([this, store = store_]() -> Result<Entries> { return list_.entries(*store); },
              [this, store = store_, then = std::move(then)](Result<Entries> entries) {
                if (!entries) return then(propagate(entries));
                SnapshotListing listing{.directory = store->directory(),
                                        .snapshots = std::move(*entries),
                                        .writing = {}};
                for (const auto& [id, writing] : writing_)
                  listing.writing.push_back(writing.snapshot.name);
                then(listing);
              },
              priority);
}

void Snapshots::status(OnRead then, Priority priority) {
  const uint64_t id = ++last_id_;
  auto timer = loop_.add_timer(kStatusWaits, [this, id, priority] {
    loop_.post([this, id] { answer_status(id); }, priority);
  });
  if (!timer) return then(status_now());
  status_requests_[id] = {.then = std::move(then), .timer = std::move(*timer)};
  reader_.run(
      [this, store = store_]() -> Result<SnapshotList::Sum> {
        return list_.sum(*store, [this](const SnapshotList::Sum& sum) {
          loop_.post([this, sum] { sum_ = sum; });
        });
      },
      [this, id](const Result<SnapshotList::Sum>& sum) {
        if (!stop_reading_.stop_requested()) sum_ = sum;
        answer_status(id);
      },
      priority);
}

// Answers once: when all manifests are read, or after kStatusWaits.
void Snapshots::answer_status(uint64_t id) {
  if (const auto request = status_requests_.extract(id)) request.mapped().then(status_now());
}

SnapshotsStatus Snapshots::status_now() const {
  return {.banks = config_.banks,
          .ring_bytes = uint64_t{config_.buffer_kb} * 1024,
          .directory = store_->directory(),
          .frozen = writing_.size() + unsaved_.size(),
          .waiting = waiting_.size(),
          .unsaved = unsaved_.empty() ? "" : unsaved_because_,
          .sum = sum_,
          .retention = retention_log_.counts(),
          .counts = counts_};
}

}  // namespace ktraced
