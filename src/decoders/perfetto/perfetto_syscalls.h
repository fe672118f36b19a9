// SPDX-License-Identifier: BSD-2-Clause
// System calls as slices in a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "decoders/perfetto/perfetto_packets.h"
#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// The fields of sys_enter or sys_exit in one trace.
struct SyscallFields {
  std::optional<Field> nr, abi, args, ret;
  static SyscallFields of(const Event& event);
};

// Draws a call from its sys_enter to its sys_exit, on the track of its thread. If either may be
// missing, the call ends at the last time when it was known to run, and the return is a separate
// instant. Memory: the running calls.
class PerfettoSyscalls {
 public:
  explicit PerfettoSyscalls(PerfettoPackets& packets) : packets_(packets) {}

  void enter(const SyscallFields& fields, uint64_t track, RecordView record);
  void exit(const SyscallFields& fields, uint64_t track, RecordView record);
  // The thread has ended, or continues under another id.
  void end_thread(uint32_t tid, uint64_t ts);

  // From then on calls of this CPU may be missing, until its next event.
  void lose(uint32_t cpu, uint64_t ts);
  void see(uint32_t cpu) {
    if (!losing_.empty()) losing_.erase(cpu);
  }
  // Ends all calls: their state is unknown from now on. `why` is a sentence.
  void end_all(uint64_t ts, std::string_view why);

 private:
  struct Call {
    int32_t nr = 0;
    uint32_t abi = 0;
    uint64_t track = 0;
  };
  void begin(const Call& call, const SyscallFields& fields, RecordView record);
  void end_unknown(const Call& call, uint64_t ts, std::string_view why);
  void add_result(const SyscallFields& fields, RecordView record, protozero::pbf_writer& event);
  void intern();

  PerfettoPackets& packets_;
  uint64_t category_ = 0, args_ = 0, ret_ = 0, error_ = 0, end_ = 0;  // interned
  std::map<uint32_t, Call> running_;                                  // by thread
  std::set<uint32_t> losing_;                                         // CPUs that are losing events
};

}  // namespace ktraced
