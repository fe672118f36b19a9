// SPDX-License-Identifier: BSD-2-Clause
// The running kernel's own tracepoints as events.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/dynamic_events.h"
#include "kernel/tracefs.h"
#include "kernel/tracepoint_format.h"

namespace ktraced {

// A kind of dynamic events: what tracefs describes, recorded by one program for all.
class Tracepoints : public DynamicKind {
 public:
  static constexpr const char* kProgram = "tracepoint_event";

  // `object` must outlive this.
  explicit Tracepoints(const BpfObject& object) : object_(object) {}

  [[nodiscard]] std::string_view name() const override { return "tracepoint"; }
  Result<> prepare(const DynamicEvent& event) override;
  Result<Fd> load(const DynamicEvent& event) override;
  Result<std::vector<Fd>> attach(const DynamicEvent& event, int program) override;

  // Names of all that match a pattern ("irq:*"), as "SYSTEM:NAME". Fails with ExitCode::usage if
  // there is none, naming those that may be meant, and with ExitCode::unavailable without tracefs.
  [[nodiscard]] Result<std::vector<std::string>> matching(std::string_view pattern) const;
  // The same, of names known already.
  [[nodiscard]] static Result<std::vector<std::string>> matching(
      const std::vector<std::string>& names, std::string_view pattern);
  // Names of all that there are now. Fails with ExitCode::unavailable without tracefs.
  [[nodiscard]] static Result<std::vector<std::string>> all();
  // What the kernel says of one now. Fails with ExitCode::unavailable.
  [[nodiscard]] Result<TracepointFormat> format(std::string_view name) const;

  // While a copy lives, names and formats are read from tracefs once.
  using Kept = std::shared_ptr<void>;
  [[nodiscard]] Kept keep_formats();
  // Modules have come or gone: what was read may not hold any more.
  void forget_formats();

 private:
  // Tells the program the layout of the records, and returns what the kernel says of them now.
  Result<TracepointFormat> tell_layout(const DynamicEvent& event);
  struct KeptFormats {
    std::optional<std::vector<std::string>> names;
    std::map<std::string, Result<TracepointFormat>, std::less<>> formats;
    // Enumerators of the kernel, read when a text first needs one.
    std::optional<std::unordered_map<std::string, int64_t>> constants;
  };
  [[nodiscard]] Result<std::vector<std::string>> names() const;
  [[nodiscard]] static Result<TracepointFormat> read_format(std::string_view name,
                                                            KeptFormats& kept);

  const BpfObject& object_;
  std::weak_ptr<KeptFormats> kept_;
};

}  // namespace ktraced
