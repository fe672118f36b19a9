// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/elf_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

#include "unit/support/shapes.h"

namespace ktraced {
namespace {

using test::OwnFiles;
using test::shapes;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// The bytes of the library with one field of its header changed.
template <class Field>
std::string with_header(size_t offset, Field value) {
  std::string bytes = test::bytes_of_file(shapes("whole.so"));
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

TEST(ElfFile, HasABuildIdAlsoWithoutSectionsAndInADebugFile) {
  const OwnFiles files;
  for (const auto& path :
       {shapes("whole.so"), shapes("stripped.so"), test::shapes_debug_file(),
        files.write("no_sections", with_header<Elf64_Off>(offsetof(Elf64_Ehdr, e_shoff), 0))}) {
    const auto file = ElfFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->build_id(), test::kShapesId) << path;
  }
}

TEST(ElfFile, TurnsOffsetsIntoAddresses) {
  auto file = ElfFile::open(shapes("stripped.so"));
  ASSERT_TRUE(file);
  const uint64_t plain = test::offset_in_shapes("plain");
  for (int closed = 0; closed < 2; closed++) {
    EXPECT_EQ(file->address_of(plain), plain + test::kShapesBase);
    EXPECT_EQ(file->address_of(uint64_t{1} << 40), std::nullopt);
    EXPECT_EQ(file->address_of(UINT64_MAX), std::nullopt);
    file->close();
  }
  EXPECT_EQ(file->build_id(), test::kShapesId);
}

TEST(ElfFile, ReadsItsOwnProgram) {
  const auto file = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->address_of(test::offset_in_shapes(reinterpret_cast<const void*>(&shapes))));
}

TEST(ElfFile, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const OwnFiles files;
  ::mkfifo((files / "fifo").c_str(), 0600);
  const auto fifo = ElfFile::open(files / "fifo");
  ASSERT_FALSE(fifo);
  EXPECT_THAT(fifo.error().message, EndsWith("fifo: it is a FIFO, not a file"));
  EXPECT_THAT(ElfFile::open("/dev/zero").error().message, HasSubstr("it is a device"));
  EXPECT_EQ(ElfFile::open(files / "missing").error().code, ExitCode::data);
}

TEST(ElfFile, RefusesOtherFiles) {
  const OwnFiles files;
  const std::string whole = test::bytes_of_file(shapes("whole.so"));
  const std::string cases[] = {
      "",
      "text, longer than the header of a program is: so it is read as a whole, up to its end",
      whole.substr(0, 40),
      "!<arch>\n" + whole,
      with_header<uint16_t>(offsetof(Elf64_Ehdr, e_type), ET_CORE),
      with_header<uint16_t>(offsetof(Elf64_Ehdr, e_type), ET_REL),
      with_header<unsigned char>(EI_DATA, ELFDATA2MSB),
      with_header<unsigned char>(EI_CLASS, 7),
      // As many sections as section 0 says, and as many segments: billions.
      with_header<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 0),
      with_header<uint16_t>(offsetof(Elf64_Ehdr, e_phnum), PN_XNUM),
  };
  for (const std::string& bytes : cases) {
    const auto file = ElfFile::open(files.write("file", bytes));
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ExitCode::data);
    EXPECT_THAT(file.error().message, EndsWith("/file: it is no ELF program or library"));
  }
}

TEST(ElfFile, IsUsedUpToWhereItIsDamaged) {
  const OwnFiles files;
  const std::string whole = test::bytes_of_file(shapes("whole.so"));
  for (size_t size = sizeof(Elf64_Ehdr); size < whole.size(); size += 64) {
    const auto file = ElfFile::open(files.write("file", whole.substr(0, size)));
    if (!file) continue;
    EXPECT_TRUE(file->build_id().empty() || file->build_id() == test::kShapesId);
    EXPECT_EQ(file->section_text(".gnu_debugaltlink"), "");
  }
}

TEST(ElfFile, KnowsItsSections) {
  const auto file = ElfFile::open(shapes("whole.so"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->has_section(".symtab"));
  EXPECT_FALSE(file->has_section(".symta"));
  EXPECT_NE(file->section_text(".comment"), "");
  EXPECT_EQ(file->section_text(".bss"), "") << "it has no bytes in the file";
  EXPECT_FALSE(ElfFile::open(shapes("stripped.so"))->has_section(".symtab"));
}

}  // namespace
}  // namespace ktraced
