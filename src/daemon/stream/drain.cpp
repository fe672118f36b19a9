// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/drain.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>

#include "base/clock.h"

namespace ktraced {
namespace {

constexpr int kSoonMs = 1;
constexpr uint64_t kEverything = std::numeric_limits<uint64_t>::max();

// Returns when every record with a time up to `ts` is in its ring.
void wait_for_late_records(uint64_t ts) {
  while (boottime_ns() <= ts + kReorderWindowNs)
    std::this_thread::sleep_for(std::chrono::nanoseconds(kReorderWindowNs));
}

}  // namespace

Drain::Drain(const BpfObject& object, Counters& counters, StreamRings& rings,
             StreamAccount& account, const Options& options, Publish publish)
    : counters_(counters),
      control_(object.control()),
      rings_(rings),
      account_(account),
      lost_before_(options.lost_before),
      uuid_(options.uuid),
      publish_(std::move(publish)),
      names_map_(object.map_fd("metadata_records")),
      all_names_(options.all_names),
      resume_(options.resume),
      max_latency_ms_(static_cast<int>(options.max_latency_ms)) {}

Result<std::unique_ptr<Drain>> Drain::start(const BpfObject& object, Counters& counters,
                                            StreamRings& rings, StreamAccount& account,
                                            const Options& options, Publish publish) {
  std::unique_ptr<Drain> drain(
      new Drain(object, counters, rings, account, options, std::move(publish)));
  auto names =
      RingReader::open(Fd(::dup(drain->names_map_)), object.map_capacity("metadata_records"));
  if (!names) return propagate(names);
  drain->names_ = std::make_unique<RingReader>(std::move(*names));
  if (auto opened = drain->open(); !opened) return propagate(opened);
  drain->thread_ = std::thread([self = drain.get()] { self->run(); });
  ::pthread_setname_np(drain->thread_.native_handle(), "ktraced-drain");
  return drain;
}

Result<> Drain::open() {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  if (!epoll_ || !wake_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0)
    return fail(ExitCode::os, "cannot set up the drain thread: {}", errno_text(errno));
  return watch_rings();
}

// Edge-triggered: a ring that holds records becomes ready only when a program requests a wakeup.
Result<> Drain::watch_rings() {
  for (const auto& [cpu, ring] : rings_.rings()) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = cpu + 1U}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ring.map_fd(), &event) != 0 && errno != EEXIST)
      return fail(ExitCode::os, "cannot wait for the ring of CPU {}: {}", cpu, errno_text(errno));
  }
  return {};
}

Drain::~Drain() {
  if (!thread_.joinable()) return;
  call([this] { stop_ = true; });
  thread_.join();
}

void Drain::run() {
  std::array<epoll_event, 16> events{};
  while (!stop_) {
    const bool soon = flowing_ && watermark_ < requested_.load();
    const int timeout = !streaming_ ? -1 : soon ? kSoonMs : max_latency_ms_;
    ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout);
    carry_out_requests();
    if (!streaming_ || !flowing_) continue;
    const uint64_t until = boottime_ns() - kReorderWindowNs;
    // If a batch fails, the records it has read stay in the packet builders. Readers detect lost
    // packets by their sequence numbers.
    barrier_.run([&] { run_batch(until, std::max(until, watermark_)); });
  }
}

void Drain::carry_out_requests() {
  uint64_t count = 0;
  static_cast<void>(::read(wake_.get(), &count, sizeof(count)));
  std::unique_lock lock(mutex_);
  if (!task_) return;
  try {
    task_();
  } catch (...) {
    task_failure_ = std::current_exception();
  }
  task_ = nullptr;
  lock.unlock();
  done_.notify_all();
}

void Drain::call(const std::function<void()>& task) {
  std::unique_lock lock(mutex_);
  task_ = task;
  ::eventfd_write(wake_.get(), 1);
  done_.wait(lock, [this] { return !task_; });
  if (auto failure = std::exchange(task_failure_, nullptr)) std::rethrow_exception(failure);
}

void Drain::request_batch() {
  requested_.store(boottime_ns());
  flowing_.store(true);
  ::eventfd_write(wake_.get(), 1);
}

void Drain::set_max_latency(uint32_t milliseconds) {
  call([&] { max_latency_ms_ = static_cast<int>(milliseconds); });
}

void Drain::set_streaming(bool on, bool leave_on) {
  call([&] {
    if (on == streaming_) return;
    if (on) {
      begin_stream();
      flowing_.store(false);
    }
    const uint64_t now = boottime_ns();
    if (!leave_on) std::atomic_ref(control_.stream).store(on ? 1 : 0);
    if (!on) {
      wait_for_late_records(now);
      run_batch(kEverything, now);
    }
    streaming_ = on;
  });
}

void Drain::flush() {
  const uint64_t now = boottime_ns();
  call([&] {
    if (!streaming_) return;
    wait_for_late_records(now);
    run_batch(now, now);
  });
}

// Publishes batches of metadata only, which do not advance the watermark.
void Drain::announce(std::span<const std::byte> names) {
  call([&] {
    if (!streaming_) return;
    for (const PacketBytes& packet :
         build_metadata_packets(uuid_, metadata_sequence_, watermark_, names))
      publish_(std::span(&packet, 1));
  });
}

void Drain::make_cpus(uint64_t start) {
  for (const Cpu& cpu : cpus_) late_before_ += cpu.builder.late_records();
  cpus_.clear();
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
    cpus_.emplace_back(uuid_, counters_, cpu, start);
}

void Drain::begin_stream() {
  if (!resume_) {
    make_cpus(boottime_ns());
    empty_rings();
    begin_account({});
  } else if (cpus_.empty()) {
    resume_cpus();
  }
  resume_ = false;
}

void Drain::begin_account(const LostByCpu& known_lost) {
  account_.begin([this](uint32_t cpu, uint16_t event) { return counters_.reported(cpu, event); },
                 known_lost);
}

// Reports the losses of the earlier daemon first.
void Drain::resume_cpus() {
  make_cpus(0);
  begin_account(lost_before_);
  for (const auto& [cpu, lost] : lost_before_) cpus_[cpu].builder.lose(lost);
}

Result<> Drain::add_cpu(uint32_t cpu) {
  Result<> result;
  call([&] {
    result = rings_.add_cpu(cpu);
    if (result) result = watch_rings();
  });
  return result;
}

Result<> Drain::resize(size_t ring_bytes) {
  Result<> result;
  call([&] {
    auto old = rings_.resize(ring_bytes);
    if (!old) {
      result = propagate(old);
      return;
    }
    // Unread records, also those of an earlier daemon, move into the packet builders.
    if (resume_ && cpus_.empty()) resume_cpus();
    if (streaming_ || resume_)
      for (auto& [number, ring] : *old) {
        drain_cpu(ring, cpus_[number]);
        report_losses(cpus_[number], std::numeric_limits<uint64_t>::max());
      }
    for (const auto& [number, ring] : rings_.rings()) account_.restart(number);
    result = watch_rings();
  });
  return result;
}

bool Drain::has_backlog() {
  bool found = false;
  call([&] {
    // After resize() the backlog is in the packet builders.
    found = resume_ && (!cpus_.empty() || std::ranges::any_of(rings_.rings(), [](const auto& ring) {
              return ring.second.produced() != ring.second.consumed();
            }));
  });
  return found;
}

void Drain::discard_backlog() {
  call([&] { resume_ = false; });
}

uint64_t Drain::discard() {
  uint64_t discarded = 0;
  call([&] {
    resume_ = false;
    if (!streaming_) return empty_rings();
    for (auto& [number, ring] : rings_.rings()) {
      Cpu& cpu = cpus_[number];
      drain_cpu(ring, cpu);
      discarded += cpu.builder.discard();
    }
  });
  return discarded;
}

uint64_t Drain::late_records() {
  uint64_t sum = 0;
  call([&] {
    sum = late_before_;
    for (const Cpu& cpu : cpus_) sum += cpu.builder.late_records();
  });
  return sum;
}

}  // namespace ktraced
