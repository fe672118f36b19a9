// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/packet.h"

namespace ktraced {

Result<size_t> packet_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(PacketHeader))
    return fail(ExitCode::data, "truncated packet: {} bytes where a header needs {}", bytes.size(),
                sizeof(PacketHeader));
  PacketHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kPacketMagic)
    return fail(ExitCode::data, "not a packet: magic 0x{:08x} instead of 0x{:08x}", header.magic,
                kPacketMagic);
  uint64_t size = header.packet_size / 8;
  if (header.packet_size % 64 != 0 || header.content_size > header.packet_size ||
      header.packet_size - header.content_size >= 64 || size > kPacketMaxBytes ||
      header.lost_count > EVENT_ID_MAX + 1 ||
      size < sizeof(PacketHeader) + header.lost_count * sizeof(Lost))
    return fail(ExitCode::data, "corrupt packet: size of {} bits with {} loss entries",
                header.packet_size, header.lost_count);
  return size;
}

Result<PacketView> PacketView::parse(std::span<const std::byte> bytes) {
  auto size = packet_bytes(bytes);
  if (!size) return propagate(size);
  if (*size > bytes.size())
    return fail(ExitCode::data, "truncated packet: {} bytes of {}", bytes.size(), *size);

  PacketView packet(bytes.first(*size));
  const size_t end =
      walk_records(packet.bytes(), packet.records_begin(), [](const record&) { return true; });
  if (end != *size)
    return fail(ExitCode::data, "corrupt packet: the record at byte {} is not whole", end);
  return packet;
}

std::vector<Lost> PacketView::lost() const {
  std::vector<Lost> lost(header_.lost_count);
  if (!lost.empty())
    std::memcpy(lost.data(), bytes_.data() + sizeof(PacketHeader), lost.size() * sizeof(Lost));
  return lost;
}

}  // namespace ktraced
