// SPDX-License-Identifier: BSD-2-Clause
// The perf events that let a program take samples of each CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/stacks/sample_period.h"

namespace ktraced {

// A perf event for each CPU that is online, with a fixed period and a link to the program. With a
// pinned BPF object, both outlive the daemon. Belongs to one thread.
class Samplers {
 public:
  // `object` must outlive this. What an earlier daemon has left samples on until start() or stop().
  explicit Samplers(const BpfObject& object);

  // Takes effect with the next start().
  void set_period(const SamplePeriod& period) { period_ = period; }
  [[nodiscard]] const SamplePeriod& period() const { return period_; }

  // Samples all CPUs that are online with this program, and ends what sampled before. A CPU that
  // has come back online needs another start(): the kernel has taken its perf event away. Fails
  // with ExitCode::no_permission, or with ExitCode::unavailable, if no CPU can be sampled; then
  // nothing samples.
  Result<> start(int program);
  // On return no sample is taken any more, unless an earlier daemon has started it: then soon.
  void stop();
  // The CPUs that are sampled.
  [[nodiscard]] std::vector<uint32_t> cpus() const;

 private:
  struct Sampler {
    uint32_t cpu = 0;
    Fd event;
    Fd link;
  };
  [[nodiscard]] Result<Sampler> make(uint32_t cpu, int program) const;

  const BpfObject& object_;
  SamplePeriod period_;
  std::vector<Sampler> samplers_;
};

// The samples that the kernel takes of a CPU in a second, at most, before it pauses its perf events
// for a while; 0: unknown.
[[nodiscard]] uint64_t max_sample_rate();

}  // namespace ktraced
