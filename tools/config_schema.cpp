// SPDX-License-Identifier: BSD-2-Clause
// Writes configs/ktraced.schema.json from the rules of src/daemon/config.
//
//   config_schema OBJECT source|build [FILE]
//
// OBJECT: the BPF object, which has the events. source: with the paths in configs/, whatever the
// prefix of this build; build: with those of this build. Prints the schema, or compares it with
// FILE; exit code 1 if they differ.
#include "daemon/config/config_schema.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "daemon/capture/tracer.h"
#include "schema/schema_from_btf.h"

namespace ktraced {
namespace {

std::string content_of(const char* name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int complain(std::string_view message) {
  fmt::print(stderr, "config_schema: {}\n", message);
  return 1;
}

Config source_defaults() {
  Config config;
  config.control.socket = KTRACED_SOURCE_RUN_DIR / config.control.socket.filename();
  config.flight.directory = KTRACED_SOURCE_STATE_DIR / config.flight.directory.filename();
  return config;
}

int run(std::span<char*> arguments) {
  const std::string_view paths = arguments.size() < 3 ? "" : arguments[2];
  if ((paths != "source" && paths != "build") || arguments.size() > 4)
    return complain("usage: OBJECT source|build [FILE]");
  const std::string object = content_of(arguments[1]);
  auto events = schema_from_object(std::as_bytes(std::span(object)));
  if (!events) return complain(events.error().message);
  const std::string text =
      config_schema(event_groups(*events), paths == "source" ? source_defaults() : Config{});
  if (arguments.size() == 3) return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
  if (content_of(arguments[3]) == text) return 0;
  return complain(
      fmt::format("{} differs from the rules of the daemon; update it with "
                  "'cmake --build BUILD_DIRECTORY --target update_config_schema'",
                  arguments[3]));
}

}  // namespace
}  // namespace ktraced

int main(int argc, char** argv) { return ktraced::run(std::span(argv, static_cast<size_t>(argc))); }
