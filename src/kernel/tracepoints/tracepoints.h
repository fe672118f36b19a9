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

#include "kernel/programs/dynamic_events.h"
#include "kernel/tracepoints/tracefs.h"
#include "kernel/tracepoints/tracepoint_format.h"

namespace ktraced {

// A kind of dynamic events: the tracepoints of tracefs, all recorded by one program.
class Tracepoints : public DynamicKind {
 public:
  static constexpr const char* kProgram = "tracepoint_event";

  // `object` must outlive this.
  explicit Tracepoints(const BpfObject& object) : object_(object) {}

  [[nodiscard]] std::string_view name() const override { return "tracepoint"; }
  Result<> prepare(const DynamicEvent& event) override;
  Result<Fd> load(const DynamicEvent& event) override;
  Result<std::vector<Fd>> attach(const DynamicEvent& event, int program) override;
  // Names of all tracepoints that match a pattern ("irq:*"), as "SYSTEM:NAME". Fails with
  // ExitCode::usage if there is none, suggesting similar names, and with ExitCode::unavailable
  // without tracefs.
  [[nodiscard]] Result<std::vector<std::string>> matching(std::string_view pattern) const;
  // The names in `names` that match a pattern ("irq:*"). Fails with ExitCode::usage if there is
  // none, suggesting similar names.
  [[nodiscard]] static Result<std::vector<std::string>> matching(
      const std::vector<std::string>& names, std::string_view pattern);
  // Names of all current tracepoints. Fails with ExitCode::unavailable without tracefs.
  [[nodiscard]] static Result<std::vector<std::string>> all();
  // The kernel's current description of one. Fails with ExitCode::unavailable.
  [[nodiscard]] Result<TracepointFormat> format(std::string_view name) const;

  // While a copy exists, names and formats are read from tracefs only once.
  using Kept = std::shared_ptr<void>;
  [[nodiscard]] Kept keep_formats();
  // Modules were loaded or unloaded: the cached data may be outdated.
  void drop_formats();

 private:
  // Stores the layout of the records for the program, and returns the kernel's current description.
  Result<TracepointFormat> set_layout(const DynamicEvent& event);
  // Lets all tracepoints run the object's current program. Fails with ExitCode::os, and with
  // ExitCode::unavailable if there is none.
  Result<> make_callable();
  struct KeptFormats {
    std::optional<std::vector<std::string>> names;
    std::map<std::string, Result<TracepointFormat>, std::less<>> formats;
    // Enumerators of the kernel, read on first use.
    std::optional<std::unordered_map<std::string, int64_t>> constants;
  };
  [[nodiscard]] Result<std::vector<std::string>> names() const;
  [[nodiscard]] static Result<TracepointFormat> read_format(std::string_view name,
                                                            KeptFormats& kept);

  const BpfObject& object_;
  std::weak_ptr<KeptFormats> kept_;
};

}  // namespace ktraced
