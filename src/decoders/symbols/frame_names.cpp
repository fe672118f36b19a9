// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/frame_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "decoders/symbols/demangle.h"
#include "decoders/symbols/elf_symbols.h"
#include "decoders/symbols/source_lines.h"

namespace ktraced {
namespace {

constexpr size_t kMaxProblems = 100;
constexpr size_t kMaxFiles = 1024;
constexpr size_t kMaxProcesses = 8;  // of SourceLines

bool has_lines(const ElfFile& file) {
  return file.has_section(".debug_info") || file.has_section(".zdebug_info");
}

// Why the names of this file may be wrong; empty if it is the file that was mapped.
std::string why_not_the_same(const ElfFile& file, const std::string& build_id) {
  if (build_id.empty())
    return fmt::format(
        "cannot name frames of {}: it had no build id, so it may be another file now", file.name());
  if (file.build_id() == build_id) return {};
  return fmt::format(
      "cannot name frames of {}: it is another file now (its build id is {}, not {})", file.name(),
      file.build_id().empty() ? "missing" : file.build_id(), build_id);
}

}  // namespace

// What is kept of a file.
struct FrameNames::File {
  uint64_t last_use = 0;
  std::optional<ElfFile> elf;  // closed; nothing: its frames have no names
  AddressNames names;
  std::optional<SourceLines> lines;

  [[nodiscard]] std::vector<FrameName> at(uint64_t address, std::vector<SourceFunction> functions);
};

std::string FrameName::text() const {
  std::string text = function.empty() ? "??" : function;
  if (inlined)
    text += " [inlined]";
  else
    text += fmt::format("+{:#x}", offset);
  if (!file.empty()) text += fmt::format(" at {}:{}", file, line);
  return text;
}

FrameNames::FrameNames(Options options) : options_(std::move(options)) {}
FrameNames::~FrameNames() = default;

std::vector<FrameName> FrameNames::at(const std::string& path, const std::string& build_id,
                                      uint64_t offset) {
  if (!path.starts_with('/')) return {};
  File& file = file_of({path, build_id});
  const auto address = file.elf ? file.elf->address_of(offset) : std::nullopt;
  if (!address) return {};
  std::vector<SourceFunction> functions;
  if (file.lines) {
    auto found = file.lines->at(*address);
    if (found) {
      functions = std::move(*found);
    } else {
      add_problem(found.error().message);
      file.lines.reset();
    }
  }
  return file.at(*address, std::move(functions));
}

// The function that has the code is called as without lines. Lines also say something of bytes
// between functions: these have no name.
std::vector<FrameName> FrameNames::File::at(uint64_t address,
                                            std::vector<SourceFunction> functions) {
  const auto symbol = names.at(address);
  if (functions.empty()) functions.emplace_back();
  if (functions.back().function.empty() && !symbol) return {};
  std::vector<FrameName> found;
  for (SourceFunction& function : functions)
    found.push_back({.function = demangled(function.function),
                     .inlined = true,
                     .file = std::move(function.file),
                     .line = function.line});
  found.back().inlined = false;
  if (symbol) {
    found.back().function = demangled(std::string(symbol->name));
    found.back().offset = symbol->offset;
  }
  return found;
}

FrameNames::File& FrameNames::file_of(const Id& id) {
  auto& file = files_[id];
  const bool is_new = !file;
  if (is_new) file = read(id);
  file->last_use = ++uses_;
  if (is_new) free_oldest();  // never this one
  return *file;
}

std::unique_ptr<FrameNames::File> FrameNames::read(const Id& id) {
  const auto& [path, build_id] = id;
  auto file = std::make_unique<File>();
  auto elf = ElfFile::open(path);
  if (!elf) {
    add_problem(elf.error().message);
    return file;
  }
  if (const auto why = why_not_the_same(*elf, build_id); !why.empty()) {
    add_problem(why);
    return file;
  }
  file->elf = std::move(*elf);
  const bool needs_lines = options_.lines && !has_lines(*file->elf);
  std::optional<ElfFile> debug_file;
  if (needs_lines || !file->elf->has_section(".symtab")) {
    auto found = options_.debug_files.find(build_id);
    if (found)
      debug_file = std::move(*found);
    else
      add_problem(found.error().message);
  }
  read_symbols(*file, debug_file ? &*debug_file : nullptr);
  if (options_.lines) start_lines(*file, debug_file ? &*debug_file : nullptr);
  file->elf->close();
  return file;
}

// The best table that there is.
void FrameNames::read_symbols(File& file, const ElfFile* debug_file) {
  auto use = [&](const ElfFile* from, SymbolSource source) {
    if (from == nullptr || !file.names.empty()) return;
    auto names = elf_symbols(*from, source);
    if (names)
      file.names = std::move(*names);
    else
      add_problem(names.error().message);
  };
  use(&*file.elf, SymbolSource::all);
  use(debug_file, SymbolSource::all);
  use(&*file.elf, SymbolSource::exported);
}

void FrameNames::start_lines(File& file, const ElfFile* debug_file) {
  const ElfFile* from = has_lines(*file.elf) ? &*file.elf : debug_file;
  if (from == nullptr || !has_lines(*from))
    return add_problem(fmt::format("{} has no lines: neither it nor a debug file below {} has them",
                                   file.elf->name(), options_.debug_files.directory.string()));
  const auto shared = options_.debug_files.shared_by(*from);
  if (!shared) add_problem(shared.error().message);
  auto lines = SourceLines::start(*from, shared && *shared ? &**shared : nullptr);
  if (lines)
    file.lines.emplace(std::move(*lines));
  else
    add_problem(lines.error().message);
}

// But for the file that was used last.
void FrameNames::free_oldest() {
  while (files_.size() > 1) {
    size_t memory = 0, processes = 0;
    for (const auto& [id, file] : files_) {
      memory += file->names.memory();
      processes += file->lines ? 1 : 0;
    }
    if (memory <= options_.memory && processes <= kMaxProcesses && files_.size() <= kMaxFiles)
      return;
    const bool processes_only = memory <= options_.memory && files_.size() <= kMaxFiles;
    auto oldest = files_.end();
    for (auto file = files_.begin(); file != files_.end(); ++file)
      if ((!processes_only || file->second->lines) &&
          (oldest == files_.end() || file->second->last_use < oldest->second->last_use))
        oldest = file;
    files_.erase(oldest);
  }
}

void FrameNames::add_problem(const std::string& problem) {
  if (problems_.size() < kMaxProblems && std::ranges::find(problems_, problem) == problems_.end())
    problems_.push_back(problem);
}

}  // namespace ktraced
