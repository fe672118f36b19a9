// SPDX-License-Identifier: BSD-2-Clause
// Records a live stream into a trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/live/live_source.h"
#include "ctl/live/remote_symbols.h"
#include "trace/directory/trace_writer.h"
#include "trace/metadata/event_records.h"
#include "trace/packet/stream_continuity.h"

namespace ktraced {

// Writes the packets of a stream, and checks that all packets and losses are accounted for.
class Recorder {
 public:
  // `source` must outlive this. Fails as TraceWriter::create.
  static Result<Recorder> create(const std::filesystem::path& path, const LiveSource& source);

  // Adds a packet of the stream. Fails as TraceWriter::write; the packets before can still be
  // finished.
  Result<> take(const PacketView& packet);

  [[nodiscard]] EventAccount total() const { return writer_->total(); }
  [[nodiscard]] uint64_t bytes() const { return writer_->bytes(); }

  // Adds a reason why the recording is not complete.
  void add_problem(std::string problem) { problems_.push_back(std::move(problem)); }
  // Hits that the kernel missed during the recording, by event.
  void set_missed(std::map<std::string, uint64_t> missed) { missed_ = std::move(missed); }
  // Hits that the session of the recording rejected, by event.
  void set_filtered(std::map<std::string, uint64_t> filtered) { filtered_ = std::move(filtered); }
  // Fetches the symbols, reads the build ids of mapped files, and renames the directory to its
  // final name. `reason`: of the manifest, which is returned. Fails as TraceWriter::finish; the
  // data then stays at unfinished().
  Result<Manifest> finish(const std::string& reason, RemoteSymbols::Call symbols);
  // What could not be found out about the code of processes, after finish(): see add_user_code().
  [[nodiscard]] const std::vector<std::string>& missing_names() const { return missing_names_; }
  // Leaves a recording that cannot be finished; returns its path.
  std::filesystem::path leave_unfinished() { return writer_->keep_unfinished(); }

 private:
  Recorder(std::filesystem::path path, const LiveSource& source,
           std::unique_ptr<TraceWriter> writer);
  [[nodiscard]] Manifest manifest(const std::string& reason) const;
  void take_config(RecordView record);

  std::filesystem::path path_;
  const LiveSource& source_;
  TraceOrigin origin_;
  std::unique_ptr<TraceWriter> writer_;
  StreamContinuity continuity_;
  std::vector<std::string> problems_, missing_names_;
  std::map<std::string, uint64_t> missed_;
  std::optional<std::map<std::string, uint64_t>> filtered_;
  ConfigRecordReader config_reader_;
  nlohmann::json config_;  // trace config with its changes; null: not received
  uint64_t complete_until_ = 0;
};

}  // namespace ktraced
