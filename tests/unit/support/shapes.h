// SPDX-License-Identifier: BSD-2-Clause
// The library tests/data/symbols/shapes.cpp, as tests/CMakeLists.txt has built it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ktraced::test {

inline constexpr const char* kShapesId = "0123456789abcdef";
// What its addresses are more than the offsets of its code in the file.
inline constexpr uint64_t kShapesBase = 0x100000;

inline std::filesystem::path shapes(const char* file) {
  return std::filesystem::path(KTRACED_BINARY_DIR) / "tests/shapes" / file;
}
inline std::filesystem::path shapes_debug_file() {
  return shapes("debug") / ".build-id/01/23456789abcdef.debug";
}

// The files that tests/data/symbols/hostile.py has made: "elf" or "maps".
inline std::vector<std::filesystem::path> hostile_files(const char* kind) {
  const auto directory = std::filesystem::path(KTRACED_BINARY_DIR) / "tests/hostile" / kind;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files.push_back(entry.path());
  return files;
}

inline std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The offset in whole.so of a function, found as a tracer finds it: by the mappings of this
// process.
inline uint64_t offset_in_shapes(const void* function) {
  std::ifstream maps("/proc/self/maps");
  const auto address = reinterpret_cast<uint64_t>(function);
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) != 3) continue;
    if (begin <= address && address < end) return address - begin + offset;
  }
  ADD_FAILURE() << "not mapped";
  return 0;
}

// The same by its name as the linker has it.
inline uint64_t offset_in_shapes(const char* function) {
  static void* const library = ::dlopen(shapes("whole.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << ::dlerror();
  const void* found = library == nullptr ? nullptr : ::dlsym(library, function);
  EXPECT_NE(found, nullptr) << function;
  return found == nullptr ? 0 : offset_in_shapes(found);
}

// Of the function that no other file sees.
inline uint64_t offset_of_hidden() {
  offset_in_shapes("plain");
  void* const library = ::dlopen(shapes("whole.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto get = reinterpret_cast<const void* (*)()>(::dlsym(library, "address_of_hidden"));
  return offset_in_shapes(get());
}

// Files for one test, removed at its end.
class OwnFiles {
 public:
  OwnFiles() {
    std::string name = std::filesystem::temp_directory_path() / "ktraced-symbols-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  OwnFiles(const OwnFiles&) = delete;
  OwnFiles& operator=(const OwnFiles&) = delete;
  ~OwnFiles() { std::filesystem::remove_all(directory_); }

  // Of one file, which gets these bytes.
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return directory_ / name;
  }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const {
    return directory_ / name;
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace ktraced::test
