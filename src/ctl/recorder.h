// SPDX-License-Identifier: BSD-2-Clause
// From a live stream to a trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/live_source.h"
#include "ctl/remote_symbols.h"
#include "trace/stream_continuity.h"
#include "trace/trace_writer.h"

namespace ktraced {

// Writes the packets of a stream, and checks that the stream accounts for everything.
class Recorder {
 public:
  // What the recording is to say about itself, beside what the stream says.
  struct Purpose {
    std::string reason;
    nlohmann::json config;  // if the stream does not tell what is traced
  };

  // `source` must outlive this. Fails as TraceWriter::create.
  static Result<Recorder> create(const std::filesystem::path& path, const LiveSource& source);

  // Takes a packet of the stream. Fails as TraceWriter::write; what came before can still be
  // finished.
  Result<> take(const PacketView& packet);

  [[nodiscard]] EventAccount total() const { return writer_->total(); }
  [[nodiscard]] uint64_t bytes() const { return writer_->bytes(); }

  // A reason why the recording cannot be called complete.
  void add_problem(std::string problem) { problems_.push_back(std::move(problem)); }
  // Hits that the kernel skipped meanwhile, by event.
  void set_missed(std::map<std::string, uint64_t> missed) { missed_ = std::move(missed); }
  // Asks for the symbols, and gives the directory its name; returns its manifest. Fails as
  // TraceWriter::finish; then what was written stays at unfinished().
  Result<Manifest> finish(const Purpose& purpose, RemoteSymbols::Call symbols);
  // Where a recording is left that cannot be finished.
  std::filesystem::path leave_unfinished() { return writer_->keep_unfinished(); }

 private:
  Recorder(std::filesystem::path path, const LiveSource& source,
           std::unique_ptr<TraceWriter> writer);
  [[nodiscard]] Manifest manifest(const Purpose& purpose) const;
  void take_scope(RecordView record);

  std::filesystem::path path_;
  const LiveSource& source_;
  TraceOrigin origin_;
  std::unique_ptr<TraceWriter> writer_;
  StreamContinuity continuity_;
  std::vector<std::string> problems_;
  std::map<std::string, uint64_t> missed_;
  nlohmann::json config_;  // what was traced, with its changes; null: nobody has told
  uint64_t complete_until_ = 0;
};

}  // namespace ktraced
