#include "kernel/kernel_btf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cerrno>

namespace ktraced {

void FreeBtf::operator()(btf* btf) const { btf__free(btf); }

Result<BtfPtr> load_kernel_btf() {
  // What libbpf would print says less than the sentence below.
  const libbpf_print_fn_t previous = libbpf_set_print(nullptr);
  BtfPtr btf(btf__load_vmlinux_btf());
  libbpf_set_print(previous);
  if (btf) return btf;
  // libbpf tries a list of places and reports ENOENT or ESRCH when none has it.
  if (errno == ENOENT || errno == ESRCH)
    return fail(ExitCode::unavailable,
                "this kernel has no BTF (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF");
  return fail(ExitCode::unavailable, "cannot read this kernel's BTF (/sys/kernel/btf/vmlinux): {}",
              errno_text(errno));
}

}  // namespace ktraced
