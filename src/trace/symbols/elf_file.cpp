// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/elf_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gelf.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/files/read_file.h"

namespace ktraced {
namespace {

constexpr std::string_view kOwner{"GNU", 4};          // with its NUL
constexpr size_t kMaxBuildId = 64;                    // bytes
constexpr size_t kMaxSectionNames = size_t{4} << 20;  // bytes
constexpr size_t kMaxSectionText = 4096;
constexpr size_t kMaxNotes = size_t{64} << 10;  // bytes, of all notes of a file

// A file with more sections or segments than these fields can hold keeps their numbers elsewhere.
// libelf then reserves memory for as many as a file of that size could have, and no linker makes
// such programs.
template <class Header>
bool has_usual_counts(std::span<const std::byte> bytes) {
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  return (header.e_shnum != 0 || header.e_shoff == 0) && header.e_phnum != PN_XNUM &&
         (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

// Is it worth showing to libelf? x86-64 programs only have this byte order.
bool is_program(int file) {
  std::array<std::byte, sizeof(Elf64_Ehdr)> bytes{};
  const ssize_t got = ::pread(file, bytes.data(), bytes.size(), 0);
  if (got < static_cast<ssize_t>(sizeof(Elf32_Ehdr))) return false;
  if (std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return false;
  if (bytes[EI_DATA] != std::byte{ELFDATA2LSB}) return false;
  if (bytes[EI_CLASS] == std::byte{ELFCLASS32}) return has_usual_counts<Elf32_Ehdr>(bytes);
  return bytes[EI_CLASS] == std::byte{ELFCLASS64} && has_usual_counts<Elf64_Ehdr>(bytes);
}

// The build id among these notes, in hexadecimal; empty if it is not there.
std::string build_id_in(Elf_Data* notes) {
  if (notes == nullptr || notes->d_buf == nullptr) return {};
  const std::string_view bytes(static_cast<const char*>(notes->d_buf), notes->d_size);
  GElf_Nhdr note{};
  size_t name = 0, text = 0, at = 0;
  while ((at = ::gelf_getnote(notes, at, &note, &name, &text)) > 0) {
    if (note.n_type != NT_GNU_BUILD_ID || note.n_descsz == 0 || note.n_descsz > kMaxBuildId)
      continue;
    if (bytes.substr(name, note.n_namesz) != kOwner) continue;
    const auto* id = reinterpret_cast<const unsigned char*>(bytes.data() + text);
    return fmt::format("{:02x}", fmt::join(std::span(id, note.n_descsz), ""));
  }
  return {};
}

}  // namespace

void ElfFile::End::operator()(Elf* elf) const { ::elf_end(elf); }

ElfFile::ElfFile(Fd file, std::string name, Elf* elf)
    : file_(std::move(file)), name_(std::move(name)), elf_(elf) {}

Result<ElfFile> ElfFile::open(const std::filesystem::path& path) {
  auto file = open_file(path);
  if (!file) return propagate(file);
  return read(std::move(*file), path.string());
}

Result<ElfFile> ElfFile::read(Fd file, std::string name) {
  ::elf_version(EV_CURRENT);
  if (!is_program(file.get()))
    return fail(ExitCode::data, "cannot read {}: it is no ELF program or library", name);
  // Reading, not mapping: the end of a mapped file can vanish, and with it this process.
  ElfFile elf(std::move(file), std::move(name), nullptr);
  elf.elf_.reset(::elf_begin(elf.file_.get(), ELF_C_READ, nullptr));
  if (!elf.elf_ || ::elf_kind(elf.elf()) != ELF_K_ELF)
    return fail(ExitCode::data, "cannot read {}: {}", elf.name_, ::elf_errmsg(-1));
  elf.read_segments();
  elf.read_build_id();
  return elf;
}

void ElfFile::read_segments() {
  size_t count = 0;
  if (::elf_getphdrnum(elf(), &count) != 0) return;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr header{};
    if (::gelf_getphdr(elf(), static_cast<int>(i), &header) == nullptr) return;
    if (header.p_type == PT_LOAD && header.p_filesz > 0)
      segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
}

// Debug files have the sections, and programs without sections the segments.
void ElfFile::read_build_id() {
  size_t left = kMaxNotes;
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf(), section)) != nullptr;) {
    GElf_Shdr header{};
    if (::gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    if (header.sh_size > left || (header.sh_flags & SHF_COMPRESSED) != 0) continue;
    left -= header.sh_size;
    build_id_ = build_id_in(::elf_getdata(section, nullptr));
    if (!build_id_.empty()) return;
  }
  size_t count = 0;
  if (::elf_getphdrnum(elf(), &count) != 0) return;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr header{};
    if (::gelf_getphdr(elf(), static_cast<int>(i), &header) == nullptr) return;
    if (header.p_type != PT_NOTE || header.p_filesz == 0 || header.p_filesz > left) continue;
    left -= header.p_filesz;
    const Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
    build_id_ = build_id_in(::elf_getdata_rawchunk(elf(), static_cast<int64_t>(header.p_offset),
                                                   header.p_filesz, type));
    if (!build_id_.empty()) return;
  }
}

Elf_Scn* ElfFile::section(std::string_view name) const {
  size_t names = 0;
  GElf_Shdr header{};
  if (::elf_getshdrstrndx(elf(), &names) != 0) return nullptr;
  Elf_Scn* texts = ::elf_getscn(elf(), names);
  if (texts == nullptr || ::gelf_getshdr(texts, &header) == nullptr) return nullptr;
  if (header.sh_size > kMaxSectionNames || (header.sh_flags & SHF_COMPRESSED) != 0) return nullptr;
  for (Elf_Scn* found = nullptr; (found = ::elf_nextscn(elf(), found)) != nullptr;) {
    if (::gelf_getshdr(found, &header) == nullptr) continue;
    const char* text = ::elf_strptr(elf(), names, header.sh_name);
    if (text != nullptr && text == name) return found;
  }
  return nullptr;
}

bool ElfFile::has_section(const char* name) const { return section(name) != nullptr; }

std::string ElfFile::section_text(const char* name) const {
  Elf_Scn* found = section(name);
  GElf_Shdr header{};
  if (found == nullptr || ::gelf_getshdr(found, &header) == nullptr) return {};
  if (header.sh_type == SHT_NOBITS || header.sh_size > kMaxSectionText) return {};
  const Elf_Data* data = ::elf_rawdata(found, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

void ElfFile::close() {
  elf_.reset();
  file_.reset();
}

std::optional<uint64_t> ElfFile::address_of(uint64_t offset) const {
  for (const Segment& segment : segments_)
    if (offset >= segment.offset && offset - segment.offset < segment.size)
      return segment.address + (offset - segment.offset);
  return std::nullopt;
}

}  // namespace ktraced
