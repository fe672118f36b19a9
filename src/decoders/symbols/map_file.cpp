// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/map_file.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "base/files/lines.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

// The number at the start of `line`, which loses it and the space after it.
std::optional<uint64_t> take_hex(std::string_view& line) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (error != std::errc{} || !line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  return number;
}

}  // namespace

Result<AddressNames> map_names(std::string_view text) {
  AddressNames names;
  bool all = true;
  for_each_line(text, [&](std::string_view line) {
    const auto begin = take_hex(line);
    const auto size = begin ? take_hex(line) : std::nullopt;
    if (size && all) all = names.add(*begin, *size, line);
  });
  if (!all) return fail(ExitCode::data, "it has more names than memory is reserved for");
  names.finish();
  return names;
}

Result<AddressNames> read_map_file(const std::filesystem::path& path) {
  const auto text = read_file(path, kMaxMapFile);
  if (!text) return std::unexpected(text.error());
  auto names = map_names(*text);
  if (!names)
    return fail(ExitCode::data, "cannot use {}: {}", path.string(), names.error().message);
  return names;
}

}  // namespace ktraced
