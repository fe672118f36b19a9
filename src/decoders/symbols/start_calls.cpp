// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/start_calls.h"

#include <gelf.h>

#include <bit>
#include <cstring>

namespace ktraced {
namespace {

constexpr size_t kMaxCode = size_t{16} << 20;  // bytes
constexpr size_t kMaxCalls = 2;                // of a kind: glibc calls routines of C11 elsewhere

// A section of code.
struct Code {
  std::string_view bytes;
  uint64_t address = 0;

  [[nodiscard]] bool has(size_t at, std::string_view expected) const {
    return at <= bytes.size() && bytes.substr(at).starts_with(expected);
  }
  // A signed number; nothing: it is not in the section.
  template <class Number>
  [[nodiscard]] std::optional<int64_t> number_at(size_t at) const {
    if (at > bytes.size() || bytes.size() - at < sizeof(Number)) return std::nullopt;
    Number number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
  }
  // What a jump or call goes to whose distance is at the end of it.
  template <class Number>
  [[nodiscard]] std::optional<int64_t> target_by(size_t at) const {
    const auto distance = number_at<Number>(at);
    if (!distance) return std::nullopt;
    return static_cast<int64_t>(at + sizeof(Number)) + *distance;
  }
};

// The length of an instruction with one byte of opcode, by its ModR/M and SIB bytes: Intel's
// manual, volume 2, section 2.1.5.
size_t length_of(std::string_view instruction) {
  const auto modrm = static_cast<unsigned char>(instruction[1]);
  const int mode = modrm >> 6, base = modrm & 7;
  if (mode == 3) return 2;
  const bool has_sib = base == 4;
  const size_t length = has_sib ? 3 : 2;
  if (mode == 1) return length + 1;
  if (mode == 2 || base == 5) return length + 4;
  const bool has_no_base = has_sib && instruction.size() > 2 && (instruction[2] & 7) == 5;
  return has_no_base ? length + 4 : length;
}

// Does an indirect call end here, as "call *%rax" and "call *0x638(%rbx)"?
bool ends_call(const Code& code, size_t at) {
  constexpr size_t kShortest = 2, kLongest = 7;
  for (size_t length = kShortest; length <= kLongest && length <= at; length++) {
    const std::string_view call = code.bytes.substr(at - length, length);
    if (call[0] == '\xff' && (call[1] >> 3 & 7) == 2 && length_of(call) == length) return true;
  }
  return false;
}

// main()'s result becomes the argument of exit(): "mov %eax,%edi", "call exit".
bool exits(const Code& code, size_t at, uint64_t exit) {
  constexpr std::string_view kExit = "\x89\xc7\xe8";
  if (!code.has(at, kExit)) return false;
  const auto target = code.target_by<int32_t>(at + kExit.size());
  return target && code.address + static_cast<uint64_t>(*target) == exit;
}

// Where a routine's result is stored in the descriptor of the thread: "mov %rax,%fs:0x628", behind
// a jump there, or behind "cltq" for the int of C11. Variables of threads are at negative offsets.
std::optional<size_t> stores_result(const Code& code, size_t at) {
  constexpr std::string_view kInt = "\x48\x98", kJump = "\xe9", kShortJump = "\xeb";
  constexpr std::string_view kStore = "\x64\x48\x89\x04\x25";
  std::optional<int64_t> store = static_cast<int64_t>(at);
  if (code.has(at, kInt))
    store = static_cast<int64_t>(at + kInt.size());
  else if (code.has(at, kJump))
    store = code.target_by<int32_t>(at + kJump.size());
  else if (code.has(at, kShortJump))
    store = code.target_by<int8_t>(at + kShortJump.size());
  if (!store || *store < 0) return std::nullopt;
  const auto found = static_cast<size_t>(*store);
  if (!code.has(found, kStore)) return std::nullopt;
  const auto offset = code.number_at<int32_t>(found + kStore.size());
  return offset && *offset > 0 ? std::optional(found) : std::nullopt;
}

// Calls of one function, if all go on at the same place.
class Calls {
 public:
  void add(uint64_t last_byte, uint64_t goes_on) {
    is_unclear_ |= last_bytes_.size() == kMaxCalls || goes_on_.value_or(goes_on) != goes_on;
    if (is_unclear_) return;
    goes_on_ = goes_on;
    last_bytes_.push_back(last_byte);
  }
  void append_to(std::vector<StartCall>& found, std::string_view caller) const {
    if (is_unclear_) return;
    for (const uint64_t address : last_bytes_) found.push_back({address, caller});
  }

 private:
  std::vector<uint64_t> last_bytes_;
  std::optional<uint64_t> goes_on_;
  bool is_unclear_ = false;
};

void find_in(const Code& code, const StartExports& exports, Calls& mains, Calls& routines) {
  for (size_t at = 2; at < code.bytes.size(); at++) {
    const uint64_t returns = code.address + at;
    if (exports.is_glibc && exports.exit && exits(code, at, *exports.exit) && ends_call(code, at))
      mains.add(returns - 1, returns);
    const auto store = exports.has_threads ? stores_result(code, at) : std::nullopt;
    if (store && ends_call(code, at)) routines.add(returns - 1, code.address + *store);
  }
}

bool is_x86_64(Elf* elf) {
  GElf_Ehdr header{};
  return ::gelf_getehdr(elf, &header) != nullptr && header.e_machine == EM_X86_64 &&
         header.e_ident[EI_CLASS] == ELFCLASS64;
}

// Every section of code; nothing if one cannot be read.
std::optional<std::vector<Code>> code_of(Elf* elf) {
  std::vector<Code> found;
  size_t left = kMaxCode;
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header{};
    if (::gelf_getshdr(section, &header) == nullptr) return std::nullopt;
    if ((header.sh_flags & SHF_EXECINSTR) == 0 || header.sh_type == SHT_NOBITS) continue;
    if (header.sh_size > left || (header.sh_flags & SHF_COMPRESSED) != 0) return std::nullopt;
    if (header.sh_size == 0) continue;
    left -= header.sh_size;
    const Elf_Data* data = ::elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return std::nullopt;
    found.push_back({{static_cast<const char*>(data->d_buf), data->d_size}, header.sh_addr});
  }
  return found;
}

}  // namespace

std::vector<StartCall> start_calls(const ElfFile& file, const StartExports& exports) {
  static_assert(std::endian::native == std::endian::little, "as the numbers in the code");
  std::vector<StartCall> found;
  const bool has_main = exports.is_glibc && exports.exit;
  if ((!has_main && !exports.has_threads) || !is_x86_64(file.elf())) return found;
  const auto code = code_of(file.elf());
  if (!code) return found;
  Calls mains, routines;
  for (const Code& section : *code) find_in(section, exports, mains, routines);
  mains.append_to(found, "__libc_start_call_main");
  routines.append_to(found, "start_thread");
  return found;
}

}  // namespace ktraced
