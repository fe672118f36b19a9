// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/printfmt/pointer_text.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace ktraced {
namespace {

constexpr std::array<std::string_view, 16> kPointerKinds = {
    "", "x", "K", "S", "s", "SR", "B", "f", "F", "I4", "I6", "I6c", "M", "ISpc", "U", "m"};

template <size_t Size>
std::array<uint8_t, Size> bytes_of(const PrintValue& value, size_t from = 0) {
  std::array<uint8_t, Size> bytes{};
  if (!value.bytes || from >= value.bytes->size()) return bytes;
  std::memcpy(bytes.data(), value.bytes->data() + from, std::min(Size, value.bytes->size() - from));
  return bytes;
}

std::string ip_text(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, address, text.data(), text.size()) != nullptr ? text.data() : "?";
}

// All groups, with leading zeros.
std::string full_ip6_text(const std::array<uint8_t, 16>& bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i)
    out += fmt::format("{}{:02x}", i != 0 && i % 2 == 0 ? ":" : "", bytes[i]);
  return out;
}

// A struct sockaddr of either family, with its port.
std::string socket_text(const PrintValue& value) {
  const auto family = bytes_of<2>(value), port = bytes_of<2>(value, 2);
  const unsigned number = port[0] * 256U + port[1];
  if (family[0] + family[1] * 256 == AF_INET)
    return fmt::format("{}:{}", ip_text(AF_INET, bytes_of<4>(value, 4).data()), number);
  if (family[0] + family[1] * 256 == AF_INET6)
    return fmt::format("[{}]:{}", ip_text(AF_INET6, bytes_of<16>(value, 8).data()), number);
  return "(invalid address)";
}

std::string mac_text(const std::array<uint8_t, 6>& b, std::string_view between) {
  return fmt::format("{:02x}{}{:02x}{}{:02x}{}{:02x}{}{:02x}{}{:02x}", b[0], between, b[1], between,
                     b[2], between, b[3], between, b[4], between, b[5]);
}

std::string printed_uuid(const std::array<uint8_t, 16>& bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i)
    out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  return out;
}

}  // namespace

bool known_pointer_kind(std::string_view kind) {
  return kind == kBitList || std::ranges::find(kPointerKinds, kind) != kPointerKinds.end();
}

void append_bit_list(const PrintValue& value, size_t bits, TextBuffer& out) {
  if (!value.bytes) return;
  const std::span<const std::byte> bytes = *value.bytes;
  bits = std::min(bits, bytes.size() * 8);
  auto is_set = [&](size_t bit) {
    return bit < bits && (bytes[bit / 8] >> (bit % 8) & std::byte{1}) != std::byte{0};
  };
  const char* between = "";
  for (size_t first = 0; first < bits; ++first) {
    if (!is_set(first)) continue;
    size_t last = first;
    while (is_set(last + 1)) ++last;
    out.append(between);
    between = ",";
    out.append_decimal(first);
    if (last != first) {
      out.append('-');
      out.append_decimal(last);
    }
    first = last;
  }
}

void append_pointer(std::string_view kind, const PrintValue& value,
                    const PrintFormat::Symbol& symbol, TextBuffer& out) {
  if (kind == "I4") return out.append(ip_text(AF_INET, bytes_of<4>(value).data()));
  if (kind == "I6c") return out.append(ip_text(AF_INET6, bytes_of<16>(value).data()));
  if (kind == "I6") return out.append(full_ip6_text(bytes_of<16>(value)));
  if (kind == "ISpc") return out.append(socket_text(value));
  if (kind == "M") return out.append(mac_text(bytes_of<6>(value), ":"));
  if (kind == "m") return out.append(mac_text(bytes_of<6>(value), ""));
  if (kind == "U") return out.append(printed_uuid(bytes_of<16>(value)));
  if (kind == "x") return out.append_hex(value.number);
  if (kind.empty() || kind == "K") return out.append_hex(value.number, 16);
  if (kind != "s" && kind != "f") return symbol(value.number, out);
  // The name without an offset.
  TextBuffer text;
  symbol(value.number, text);
  out.append(text.view().substr(0, text.view().find('+')));
}

}  // namespace ktraced
