// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/frame_namer.h"

#include <fmt/format.h>

#include <utility>

#include "trace/metadata/jit_code.h"

namespace ktraced {
namespace {

FrameText without_name(std::string text, const MappedFile* file = nullptr) {
  return {.function = std::move(text), .module = {}, .file = file, .is_named = false};
}

bool have_none(const std::vector<FrameName>& names) {
  return names.empty() || names.back().function.empty();
}

// A signal handler returns to the beginning of this function of glibc and musl, which has not
// called it. Therefore no function has the byte before.
constexpr std::string_view kSignalReturn = "__restore_rt";

std::vector<FrameName> names_at(const FrameCode& code, FrameNames& files) {
  const MappedFile& file = *code.file;
  std::vector<FrameName> names = files.at(file.path, file.build_id, code.byte());
  if (!code.is_return || !have_none(names)) return names;
  std::vector<FrameName> behind = files.at(file.path, file.build_id, code.at);
  return !have_none(behind) && behind.back().function == kSignalReturn ? behind : names;
}

std::vector<FrameText> names_in_file(const FrameCode& code, FrameNames& files) {
  const MappedFile* file = code.file;
  if (file == nullptr) return {without_name("[file not in the trace]")};
  std::string module(file->name());
  if (module.empty()) module = "[unknown file]";
  std::vector<FrameText> functions;
  std::vector<FrameName> names = names_at(code, files);
  for (FrameName& name : names) {
    const bool is_named = !name.function.empty();
    functions.push_back({.function = is_named ? std::move(name.function) : "[no name]",
                         .module = module,
                         .file = file,
                         .source = std::move(name.file),
                         .line = name.line,
                         .inlined = name.inlined,
                         .is_named = is_named});
  }
  if (functions.empty())
    functions.push_back(without_name(fmt::format("{}+{:#x}", module, code.at), file));
  return functions;
}

}  // namespace

FrameText frame_of_symbol(std::string_view symbol) {
  FrameText frame{.function = std::string(symbol.substr(0, symbol.find("+0x"))), .module = {}};
  const size_t bracket = symbol.rfind(" [");
  if (bracket != std::string_view::npos && symbol.ends_with(']')) {
    frame.module = symbol.substr(bracket + 2, symbol.size() - bracket - 3);
    if (frame.function.size() > bracket) frame.function.resize(bracket);
  }
  return frame;
}

FrameNames::Options file_options(const FrameOptions& options) {
  FrameNames::Options of_files;
  of_files.debug_files.debuginfod = options.debuginfod;
  of_files.lines = options.lines;
  return of_files;
}

std::vector<std::string> frame_caveats(const FrameNames& files) {
  constexpr size_t kShown = 10;
  std::vector<std::string> caveats = files.problems();
  if (caveats.size() <= kShown) return caveats;
  const size_t more = caveats.size() - kShown;
  caveats.resize(kShown);
  caveats.push_back(fmt::format("there are {} more reasons why frames have no names", more));
  return caveats;
}

FrameNamer frame_namer(std::function<std::string_view(uint64_t address)> symbol,
                       FrameNames& files) {
  return [symbol = std::move(symbol), &files](const FrameCode& code) -> std::vector<FrameText> {
    switch (code.kind) {
      case FrameCode::Kind::kernel:
        // A trace has the symbol of the byte before only if it is another one.
        for (const uint64_t address : {code.byte(), code.at})
          if (const std::string_view name = symbol(address); !name.empty())
            return {frame_of_symbol(name)};
        break;
      case FrameCode::Kind::file:
        return names_in_file(code, files);
      case FrameCode::Kind::vdso:
        return {without_name("[vdso]")};
      case FrameCode::Kind::anonymous:
        if (code.jit == nullptr) return {without_name("[anonymous]")};
        return {{.function = code.jit->name, .module = "jit"}};
      case FrameCode::Kind::nowhere:
        break;
    }
    return {without_name(fmt::format("[{:#x}]", code.at))};
  };
}

}  // namespace ktraced
