// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/debug_files.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "unit/support/shapes.h"

namespace ktraced {
namespace {

using test::OwnFiles;
using test::shapes;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(DebugFiles, FindsTheDebugFileOfABuildId) {
  const DebugFiles debug_files{.directory = shapes("debug")};
  const auto found = debug_files.find(test::kShapesId);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->build_id(), test::kShapesId);
  EXPECT_TRUE((*found)->has_section(".debug_info"));
}

TEST(DebugFiles, FindsNothingForOtherIds) {
  const DebugFiles debug_files{.directory = shapes("debug")};
  for (const char* id : {"", "01", "0123456789abcdee", "../../../../etc/passwd", "0123/../456",
                         "0123456789ABCDEF", "01234567 89abcdef"}) {
    const auto found = debug_files.find(id);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_FALSE(*found) << id;
  }
}

TEST(DebugFiles, RefusesAFileOfAnotherProgram) {
  const OwnFiles files;
  const DebugFiles debug_files{.directory = files / ""};
  files.write(".build-id/ab/cdef.debug", test::bytes_of_file(test::shapes_debug_file()));
  const auto found = debug_files.find("abcdef");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ExitCode::data);
  EXPECT_THAT(found.error().message, EndsWith("its build id is 0123456789abcdef, not abcdef"));
}

TEST(DebugFiles, RefusesWhatIsNoFileWithoutWaiting) {
  const OwnFiles files;
  files.write(".build-id/ab/other", "");
  ::mkfifo((files / ".build-id/ab/cdef.debug").c_str(), 0600);
  const auto found = DebugFiles{.directory = files / ""}.find("abcdef");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("it is a FIFO"));
}

TEST(DebugFiles, AsksDebuginfodOnlyOnRequest) {
  ::unsetenv("DEBUGINFOD_URLS");
  EXPECT_TRUE(DebugFiles{.directory = "/nowhere"}.find("abcdef"));
  const auto found = DebugFiles{.directory = "/nowhere", .debuginfod = true}.find("abcdef");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ExitCode::unavailable);
  EXPECT_THAT(found.error().message,
              ::testing::AnyOf(HasSubstr("DEBUGINFOD_URLS names no server"),
                               HasSubstr("needs the library libdebuginfod.so.1")));
}

// The library with this text as its section .gnu_debugaltlink, by which it names what it shares.
ElfFile sharing(const OwnFiles& files, const std::string& link) {
  std::string bytes = test::bytes_of_file(shapes("whole.so"));
  auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  const size_t sections = header->e_shoff, strings = header->e_shstrndx;
  auto section = [&](size_t i) -> Elf64_Shdr& {
    return reinterpret_cast<Elf64_Shdr*>(bytes.data() + sections)[i];
  };
  // In the place of the last section but one, with a table of names of its own.
  const std::string names = std::string("\0", 1) + ".gnu_debugaltlink" + std::string("\0", 1);
  const size_t link_at = bytes.size(), names_at = link_at + link.size();
  bytes += link + names;
  for (size_t i = 0; i < reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_shnum; i++)
    section(i).sh_name = 0;
  Elf64_Shdr& altlink = section(strings - 1);
  altlink = {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = link_at, .sh_size = link.size()};
  section(strings).sh_offset = names_at;
  section(strings).sh_size = names.size();
  auto file = ElfFile::open(files.write("sharing", bytes));
  EXPECT_TRUE(file) << file.error().message;
  return std::move(*file);
}

TEST(DebugFiles, FindsWhatAFileSharesByItsIdOrByItsPath) {
  const OwnFiles files;
  const std::string id("\x01\x23\x45\x67\x89\xab\xcd\xef", 8), end("\0", 1);
  const DebugFiles by_id{.directory = shapes("debug")};
  auto shared = by_id.shared_by(sharing(files, "/nowhere" + end + id));
  ASSERT_TRUE(shared && *shared);
  EXPECT_EQ((*shared)->name(), test::shapes_debug_file());

  const DebugFiles by_path{.directory = files / "debug"};
  const auto common =
      files.write("debug/.dwz/common.debug", test::bytes_of_file(shapes("whole.so")));
  shared = by_path.shared_by(sharing(files, common.string() + end + id));
  ASSERT_TRUE(shared && *shared);
  EXPECT_EQ((*shared)->name(), common);
  for (const std::string& elsewhere :
       {shapes("whole.so").string(), (files / "debug/../whole.so").string(),
        std::string("common.debug"), std::string()}) {
    files.write("whole.so", test::bytes_of_file(shapes("whole.so")));
    shared = by_path.shared_by(sharing(files, elsewhere + end + id));
    ASSERT_TRUE(shared);
    EXPECT_FALSE(*shared) << elsewhere;
  }
  EXPECT_FALSE(by_path.shared_by(sharing(files, common.string() + end + "\x02\x03")))
      << "another id";
  EXPECT_FALSE(*by_path.shared_by(sharing(files, "no end")));
}

}  // namespace
}  // namespace ktraced
