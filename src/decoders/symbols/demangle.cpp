// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/demangle.h"

#define HAVE_DECL_BASENAME 1  // libiberty declares it unlike the C library, which has it
#include <libiberty/demangle.h>

#include <csetjmp>
#include <cstddef>

namespace ktraced {
namespace {

// A name of 400 bytes can repeat its parts until it fills the memory.
constexpr size_t kMaxDemangled = size_t{64} << 10;
constexpr size_t kMaxMangled = size_t{16} << 10;
constexpr int kOptions = DMGL_PARAMS | DMGL_ANSI | DMGL_TYPES;

using Demangle = int (*)(const char*, int, demangle_callbackref, void*);

// Where the demangler puts its text, piece by piece.
struct DemangledText {
  std::string* text;
  std::jmp_buf too_long;
};

void append_piece(const char* piece, size_t length, void* to) {
  auto* text = static_cast<DemangledText*>(to);
  // The demangler, in C, has nothing that ends it. It owns no memory here but for a name in
  // Punycode.
  if (text->text->size() + length > kMaxDemangled) std::longjmp(text->too_long, 1);
  text->text->append(piece, length);
}

// False if it is no name of that language.
bool demangle_by(Demangle demangle, const std::string& name, std::string& text) {
  DemangledText to{.text = &text, .too_long = {}};
  if (setjmp(to.too_long) != 0) return false;
  return demangle(name.c_str(), kOptions, append_piece, &to) != 0 && !text.empty();
}

}  // namespace

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z") && !name.starts_with("_R")) return name;
  if (name.size() > kMaxMangled) return name;
  std::string text;
  text.reserve(2 * name.size());
  // Rust's older names are names of C++ too, where they end in a hash.
  if (demangle_by(::rust_demangle_callback, name, text)) return text;
  text.clear();
  if (demangle_by(::cplus_demangle_v3_callback, name, text)) return text;
  return name;
}

}  // namespace ktraced
