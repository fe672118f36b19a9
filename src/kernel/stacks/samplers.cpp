// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/stacks/samplers.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <utility>

#include "base/clock.h"
#include "base/files/lines.h"
#include "base/files/read_file.h"
#include "kernel/rings/stream_rings.h"

namespace ktraced {
namespace {

constexpr std::string_view kPinPrefix = "sampler_";  // of links; the CPU follows

std::string sampler_pin(uint32_t cpu) { return fmt::format("{}{}", kPinPrefix, cpu); }

Fd open_event(uint32_t cpu, const SamplePeriod& period) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  const bool cycles = period.of == SamplePeriod::Of::cycles;
  attributes.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attributes.config =
      cycles ? uint64_t{PERF_COUNT_HW_CPU_CYCLES} : uint64_t{PERF_COUNT_SW_CPU_CLOCK};
  attributes.sample_period = period.number;
  attributes.disabled = 1;
  return Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu),
                                       -1, PERF_FLAG_FD_CLOEXEC)));
}

std::unexpected<Error> not_opened(int error, const SamplePeriod& period) {
  if (error == EACCES || error == EPERM)
    return fail(ExitCode::no_permission,
                "no permission to take samples: perf_event_open(2) needs the capability "
                "CAP_PERFMON, or 0 or less in kernel.perf_event_paranoid");
  if (period.of == SamplePeriod::Of::cycles && (error == ENOENT || error == EOPNOTSUPP))
    return fail(ExitCode::unavailable,
                "this machine has no counter of cycles for samples: make sampling.period a time");
  return fail(ExitCode::unavailable, "cannot take samples: {}", errno_text(error));
}

}  // namespace

Samplers::Samplers(const BpfObject& object) : object_(object) {}

// The cookie is the time from when on the event takes samples.
Result<Samplers::Sampler> Samplers::make(uint32_t cpu, int program) const {
  Sampler sampler{.cpu = cpu, .event = open_event(cpu, period_), .link = {}};
  if (!sampler.event) return not_opened(errno, period_);
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = boottime_ns()});
  sampler.link =
      Fd(std::max(-1, bpf_link_create(program, sampler.event.get(), BPF_PERF_EVENT, &options)));
  if (!sampler.link || ::ioctl(sampler.event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
    return not_opened(errno, period_);
  if (const Pins* pins = object_.pins())
    if (auto pinned = pins->pin(Pins::Kind::link, sampler_pin(cpu), sampler.link.get()); !pinned)
      return propagate(pinned);
  return sampler;
}

// A CPU can go offline meanwhile.
Result<> Samplers::start(int program) {
  stop();
  Result<> failed;
  for (const uint32_t cpu : online_cpus()) {
    auto sampler = make(cpu, program);
    if (sampler)
      samplers_.push_back(std::move(*sampler));
    else
      failed = propagate(sampler);
  }
  if (samplers_.empty()) {
    stop();
    return failed;
  }
  if (!failed) spdlog::warn("not every CPU has samples: {}", failed.error().message);
  return {};
}

void Samplers::stop() {
  for (const Sampler& sampler : samplers_) ::ioctl(sampler.event.get(), PERF_EVENT_IOC_DISABLE, 0);
  if (const Pins* pins = object_.pins())
    for (const std::string& name : pins->names(Pins::Kind::link))
      if (name.starts_with(kPinPrefix)) pins->unpin(Pins::Kind::link, name);
  samplers_.clear();
}

std::vector<uint32_t> Samplers::cpus() const {
  const auto cpus = samplers_ | std::views::transform(&Sampler::cpu);
  return {cpus.begin(), cpus.end()};
}

uint64_t max_sample_rate() {
  const auto text = read_file("/proc/sys/kernel/perf_event_max_sample_rate", 64);
  return text ? number_behind<uint64_t>("", *text).value_or(0) : 0;
}

}  // namespace ktraced
