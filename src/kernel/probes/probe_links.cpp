// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_links.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/files/lines.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

constexpr const char* kKprobeDevice = "/sys/bus/event_source/devices/kprobe/";
constexpr const char* kBlacklist = "/sys/kernel/debug/kprobes/blacklist";

std::optional<uint32_t> number_in(const std::string& file, const char* format) {
  const auto text = read_file(kKprobeDevice + file, 4096);
  uint32_t number = 0;
  if (!text || std::sscanf(text->c_str(), format, &number) != 1) return std::nullopt;
  return number;
}

// Is the address in a function that the kernel protects from probes? Lines are
// "0xffffffff81000000-0xffffffff81000010\tname". Nothing if the list cannot be read.
std::optional<bool> is_blacklisted(uint64_t address) {
  bool found = false;
  const auto read = for_each_line_of(kBlacklist, [&](std::string_view line) {
    unsigned long long begin = 0, end = 0;
    found |= std::sscanf(std::string(line).c_str(), "0x%llx-0x%llx", &begin, &end) == 2 &&
             address >= begin && address < end;
  });
  if (!read) return std::nullopt;
  return found;
}

std::string reason_of(int error, uint64_t address) {
  switch (error) {
    case EILSEQ:
      return "it is not an instruction boundary";
    case EINVAL:
      if (is_blacklisted(address).value_or(false))
        return "it is blacklisted: the kernel protects it from probes";
      return "the kernel does not allow a probe there (it is protected from probes, or no code)";
    case ENOENT:
    case EADDRNOTAVAIL:
      return "there is no such function any more";
    case EOPNOTSUPP:
      return "the kernel does not support a probe there";
    case EMFILE:
      return "too many files are open: raise the limit (LimitNOFILE of the service)";
    case EACCES:
    case EPERM:
      return "not permitted: it needs CAP_PERFMON (or root)";
    default:
      return errno_text(error);
  }
}

// The kernel's information on a link, as in include/uapi/linux/bpf.h; the build's headers may be
// older.
struct LinkInfo {
  uint32_t type, id, program, reserved;
  union {
    struct {
      uint32_t type, padding;
      uint64_t function;
      uint32_t name_length, offset;
      uint64_t address, missed, cookie;
    } perf_event;
    struct {
      uint64_t addresses;
      uint32_t count, flags;
      uint64_t missed, cookies;
    } multi;
    std::array<uint8_t, 128> room;
  };
};
static_assert(offsetof(LinkInfo, perf_event.missed) == 48);
static_assert(offsetof(LinkInfo, multi.missed) == 32);

}  // namespace

std::string why_no_kprobes() {
  if (::access(kKprobeDevice, F_OK) == 0) return {};
  return "this kernel has no kprobes (it needs CONFIG_KPROBES and CONFIG_KPROBE_EVENTS)";
}

Result<Fd> link_kprobe(int program, uint64_t address, bool at_return) {
  const auto type = number_in("type", "%u");
  const auto return_bit = number_in("format/retprobe", "config:%u");
  if (!type || !return_bit) return fail(ExitCode::unavailable, "{}", why_no_kprobes());
  perf_event_attr attr{};
  attr.type = *type;
  attr.size = sizeof(attr);
  attr.config = at_return ? uint64_t{1} << *return_bit : 0;
  attr.config2 = address;  // an address, because no symbol is given
  const Fd event(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return fail(ExitCode::unavailable, "{}", reason_of(errno, address));
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = address});
  Fd link(std::max(-1, bpf_link_create(program, event.get(), BPF_PERF_EVENT, &options)));
  if (!link) return fail(ExitCode::unavailable, "{}", reason_of(errno, address));
  return link;
}

Result<Fd> link_kprobe_multi(int program, const std::vector<uint64_t>& addresses, bool at_return) {
  LIBBPF_OPTS(bpf_link_create_opts, options,
              .kprobe_multi = {.flags = at_return ? uint32_t{BPF_F_KPROBE_MULTI_RETURN} : 0U,
                               .cnt = static_cast<uint32_t>(addresses.size()),
                               .addrs = reinterpret_cast<const unsigned long*>(addresses.data()),
                               .cookies = reinterpret_cast<const __u64*>(addresses.data())});
  Fd link(std::max(-1, bpf_link_create(program, 0, BPF_TRACE_KPROBE_MULTI, &options)));
  if (!link) return fail(ExitCode::unavailable, "{}", reason_of(errno, 0));
  return link;
}

std::optional<uint64_t> kprobe_misses(const Fd& link) {
  constexpr uint32_t kPerfEvent = 7, kKprobeMulti = 8;  // enum bpf_link_type
  constexpr uint32_t kKprobe = 3, kKretprobe = 4;       // enum bpf_perf_event_type
  LinkInfo info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(link.get(), reinterpret_cast<bpf_link_info*>(&info), &length) != 0)
    return std::nullopt;
  if (info.type == kKprobeMulti && length >= offsetof(LinkInfo, multi.cookies))
    return info.multi.missed;
  const bool is_kprobe = info.perf_event.type == kKprobe || info.perf_event.type == kKretprobe;
  if (info.type == kPerfEvent && is_kprobe && length >= offsetof(LinkInfo, perf_event.cookie))
    return info.perf_event.missed;
  return std::nullopt;
}

}  // namespace ktraced
