// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/read_ahead.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace ktraced {

Result<std::unique_ptr<ReadAhead>> ReadAhead::start(LiveSource& source, size_t max_bytes) {
  Fd ready(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready) return fail(ExitCode::os, "cannot make an eventfd: {}", errno_text(errno));
  std::unique_ptr<ReadAhead> reader(new ReadAhead(source, max_bytes, std::move(ready)));
  reader->thread_ = std::thread([self = reader.get()] { self->read_all(); });
  return reader;
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_one();
  source_.disconnect();
  thread_.join();
}

bool ReadAhead::wait_for_room() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return stop_ || bytes_ < max_bytes_; });
  return !stop_;
}

void ReadAhead::release_room(size_t bytes) {
  std::lock_guard lock(mutex_);
  bytes_ -= bytes;
  room_.notify_one();
}

void ReadAhead::hand_over(std::vector<Packet> packets, size_t bytes, Result<bool> more) {
  std::lock_guard lock(mutex_);
  std::ranges::move(packets, std::back_inserter(packets_));
  bytes_ += bytes;
  if (!more || !*more) end_ = std::move(more);
  ::eventfd_write(ready_.get(), 1);
}

void ReadAhead::read_all() {
  for (bool more = true; more && wait_for_room();) {
    std::vector<Packet> packets;
    size_t bytes = 0;
    auto result = source_.read([&](const PacketView& packet, const auto& owner) -> Result<> {
      packets.push_back({packet, owner});
      bytes += packet.bytes().size();
      return {};
    });
    more = result && *result;
    if (!packets.empty() || !more) hand_over(std::move(packets), bytes, std::move(result));
  }
}

Result<bool> ReadAhead::take(const PacketVisitor& visit) {
  std::vector<Packet> packets;
  std::optional<Result<bool>> end;
  {
    std::lock_guard lock(mutex_);
    eventfd_t ignored;
    ::eventfd_read(ready_.get(), &ignored);
    packets.swap(packets_);
    end = end_;
  }
  for (Packet& packet : packets) {
    if (auto visited = visit(packet.view, packet.owner); !visited) return propagate(visited);
    packet.owner.reset();
    release_room(packet.view.bytes().size());
  }
  return end ? *end : Result<bool>(true);
}

}  // namespace ktraced
