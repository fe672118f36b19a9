// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log/journal.h"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include <cstdlib>
#include <mutex>

#include "base/text/plain_text.h"
#include "daemon/log/log_fields.h"
#include "daemon/log/log_writer.h"

namespace ktraced {
namespace {

int priority_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::critical:
      return LOG_CRIT;
    case spdlog::level::err:
      return LOG_ERR;
    case spdlog::level::warn:
      return LOG_WARNING;
    case spdlog::level::info:
      return LOG_INFO;
    default:
      return LOG_DEBUG;
  }
}

class JournalTarget final : public LogTarget {
 public:
  bool try_put(const std::string& record, int /*timeout_ms*/) override {
    std::string text = record;  // iovec has no const
    std::vector<iovec> fields;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\0', begin);
      fields.push_back({.iov_base = &text[begin], .iov_len = end - begin});
      begin = end + 1;
    }
    ::sd_journal_sendv(fields.data(), static_cast<int>(fields.size()));
    return true;
  }
  [[nodiscard]] std::string lost_record(uint64_t lost) const override {
    return journal_record(
        spdlog::level::warn,
        fmt::format("{} lines of the log are lost: the journal was too slow", lost), {});
  }
};

class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit JournalSink(LostLines lost)
      : writer_(std::make_unique<JournalTarget>(), LogWriter::kQueueBytes, std::move(lost)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer_.write(journal_record(message.level, {message.payload.data(), message.payload.size()},
                                 LogFields::current()));
  }
  void flush_() override {}

  LogWriter writer_;
};

}  // namespace

bool is_journal(int fd) {
  const char* stream = ::getenv("JOURNAL_STREAM");
  struct stat status{};
  return stream != nullptr && ::fstat(fd, &status) == 0 &&
         stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

std::string journal_record(spdlog::level::level_enum level, std::string_view message,
                           const std::vector<std::string>& more) {
  std::string record = fmt::format("MESSAGE={}{}PRIORITY={}{}SYSLOG_IDENTIFIER=ktraced{}",
                                   printable(message), '\0', priority_of(level), '\0', '\0');
  for (const std::string& field : more) (record += printable(field)) += '\0';
  return record;
}

std::shared_ptr<spdlog::sinks::sink> make_journal_sink(LostLines lost) {
  return std::make_shared<JournalSink>(std::move(lost));
}

}  // namespace ktraced
