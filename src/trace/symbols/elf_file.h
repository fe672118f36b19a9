// SPDX-License-Identifier: BSD-2-Clause
// An ELF program or library: its build id, and where its bytes are mapped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

struct Elf;
struct Elf_Scn;

namespace ktraced {

// Open for reading. Any user may have made the file, and may change it while it is read: it is
// never mapped, and what its headers say is checked before memory is reserved for it. Not
// thread-safe.
class ElfFile {
 public:
  // Fails as open_file(), or with ExitCode::data if it is no program, library or debug file.
  static Result<ElfFile> open(const std::filesystem::path& path);
  // Reads a file that is open already; `name` is for messages. Fails with ExitCode::data if it is
  // no program, library or debug file.
  static Result<ElfFile> read(Fd file, std::string name);

  // In lower-case hexadecimal, two digits for each byte; empty if the file has none.
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  // The address at which the file was linked for a byte of it; nothing if the byte is in no loaded
  // segment. A debug file has no such bytes: ask the file that it belongs to.
  [[nodiscard]] std::optional<uint64_t> address_of(uint64_t offset) const;

  [[nodiscard]] bool has_section(const char* name) const;
  // The bytes of a small section; empty if it has more than 4 KiB or does not exist.
  [[nodiscard]] std::string section_text(const char* name) const;

  // Closes the file and frees what was read of it. The build id and address_of() stay.
  void close();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Fd& file() const { return file_; }
  // For libelf; null after close().
  [[nodiscard]] Elf* elf() const { return elf_.get(); }

 private:
  struct End {
    void operator()(Elf* elf) const;
  };
  struct Segment {
    uint64_t offset;
    uint64_t size;  // in the file
    uint64_t address;
  };
  ElfFile(Fd file, std::string name, Elf* elf);
  void read_segments();
  void read_build_id();
  [[nodiscard]] Elf_Scn* section(std::string_view name) const;

  Fd file_;
  std::string name_;
  std::unique_ptr<Elf, End> elf_;  // uses file_
  std::vector<Segment> segments_;
  std::string build_id_;
};

}  // namespace ktraced
