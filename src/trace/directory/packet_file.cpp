// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/packet_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace ktraced {

Result<PacketFile> PacketFile::open(const TraceDirectory& directory, const std::string& name,
                                    const Uuid& uuid, uint32_t cpu) {
  auto fd = directory.open_file(name);
  if (!fd) return propagate(fd);
  ::posix_fadvise(fd->get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return PacketFile(directory.path() / name, std::move(*fd), uuid, cpu);
}

std::unexpected<Error> PacketFile::damaged(std::string_view what) const {
  return fail(ExitCode::data, "{} is damaged at byte {}: {}", path_.string(), offset_, what);
}

Result<> PacketFile::fill(size_t size) {
  size_t have = buffer_->size();
  buffer_->resize(size);
  while (have < size) {
    const ssize_t got =
        ::pread(fd_.get(), buffer_->data() + have, size - have, static_cast<off_t>(offset_ + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ExitCode::io, "cannot read {}: {}", path_.string(), errno_text(errno));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  buffer_->resize(have);
  return {};
}

Result<std::optional<PacketFile::Packet>> PacketFile::next() {
  if (damage_) return std::unexpected(*damage_);
  if (!buffer_ || buffer_.use_count() > 1) buffer_ = std::make_shared<std::vector<std::byte>>();
  buffer_->clear();
  if (auto filled = fill(sizeof(PacketHeader)); !filled) return propagate(filled);
  if (buffer_->empty()) return std::optional<Packet>();
  truncated_ = buffer_->size() < sizeof(PacketHeader);
  auto size = packet_bytes(*buffer_);
  if (!size) return damaged(size.error().message);
  PacketHeader header;
  std::memcpy(&header, buffer_->data(), sizeof(header));
  if (auto good = check(header); !good) return propagate(good);
  if (auto filled = fill(*size); !filled) return propagate(filled);
  truncated_ = buffer_->size() < *size;
  const Intact intact = intact_records(header);
  if (truncated_)
    return cut(intact,
               damaged(fmt::format("truncated packet: {} bytes of {}", buffer_->size(), *size)));
  if (intact.bytes != *size)
    return cut(intact, damaged(fmt::format("corrupt packet: the record at byte {} is not whole, or "
                                           "not in time order",
                                           intact.bytes)));
  offset_ += *size;
  return deliver(intact);
}

bool PacketFile::has_records(const PacketHeader& header) {
  return header.content_size / 8 > sizeof(header) + header.lost_count * sizeof(Lost);
}

// Small packets are skipped several in one read. What does not look like a packet is left to
// next(), which reports it.
Result<> PacketFile::skip_before(uint64_t ts, Losses losses) {
  constexpr size_t kPiece = 4096;
  struct stat file{};
  if (::fstat(fd_.get(), &file) != 0) return {};
  const auto file_size = static_cast<uint64_t>(file.st_size);
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_RANDOM);
  buffer_ = std::make_shared<std::vector<std::byte>>();
  const uint64_t begin = offset_;
  Place only_losses;  // the first packet without records behind the last with some, if there is one
  bool has_only_losses = false;
  for (uint64_t piece = offset_; offset_ < file_size;) {
    if (offset_ - piece + sizeof(PacketHeader) > buffer_->size()) {
      buffer_->clear();
      piece = offset_;
      if (auto filled = fill(kPiece); !filled) return propagate(filled);
    }
    const std::span<const std::byte> bytes = std::span(*buffer_).subspan(offset_ - piece);
    const auto size = packet_bytes(bytes);
    if (!size || offset_ + *size > file_size) break;
    PacketHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (auto good = check(header); !good) return good;
    if (header.timestamp_end >= ts) {
      if (header.timestamp_begin < ts) has_only_losses = false;
      break;
    }
    if (!has_records(header) && !has_only_losses)
      only_losses = {.offset = offset_, .last_ts = last_ts_};
    has_only_losses = !has_records(header);
    last_ts_ = header.timestamp_end;
    offset_ += *size;
  }
  if (losses == Losses::keep && has_only_losses) {
    offset_ = only_losses.offset;
    last_ts_ = only_losses.last_ts;
  }
  skipped_ = offset_ != begin;
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return {};
}

// Readers merge by time and keep one packet for each CPU; both rely on this order.
Result<> PacketFile::check(const PacketHeader& header) {
  if (header.uuid != uuid_) return damaged("a packet of another trace");
  if (header.stream_id != static_cast<uint32_t>(StreamId::events))
    return damaged(fmt::format("a packet of stream {}", header.stream_id));
  if (header.cpu_id != cpu_) return damaged(fmt::format("a packet of CPU {}", header.cpu_id));
  if (header.timestamp_begin < last_ts_ || header.timestamp_end < header.timestamp_begin)
    return damaged(fmt::format("a packet from {} to {} ns after one that ended at {} ns",
                               header.timestamp_begin, header.timestamp_end, last_ts_));
  if (!first_ts_) first_ts_ = header.timestamp_begin;
  return {};
}

PacketFile::Intact PacketFile::intact_records(const PacketHeader& header) const {
  Intact intact{.last_ts = header.timestamp_begin};
  const size_t begin = sizeof(header) + header.lost_count * sizeof(Lost);
  intact.bytes = walk_records(*buffer_, begin, [&](const record& next) {
    if (next.ts < intact.last_ts || next.ts > header.timestamp_end) return false;
    intact.last_ts = next.ts;
    ++intact.records;
    return true;
  });
  return intact;
}

Result<std::optional<PacketFile::Packet>> PacketFile::cut(const Intact& intact,
                                                          std::unexpected<Error> damage) {
  if (intact.records == 0) return damage;
  damage_ = std::move(damage).error();
  PacketHeader header;
  std::memcpy(&header, buffer_->data(), sizeof(header));
  header.timestamp_end = intact.last_ts;
  header.packet_size = header.content_size = intact.bytes * 8;
  buffer_->resize(intact.bytes);
  std::memcpy(buffer_->data(), &header, sizeof(header));
  return deliver(intact);
}

PacketFile::Packet PacketFile::deliver(const Intact& intact) {
  const PacketView packet = PacketView::of_built(buffer_);
  last_ts_ = packet.header().timestamp_end;
  records_ += intact.records;
  return Packet{packet, buffer_};
}

}  // namespace ktraced
