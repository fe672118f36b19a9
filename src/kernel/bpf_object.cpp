#include "kernel/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdarg>
#include <regex>

#include "kernel/features.h"

extern "C" {
#include "ktraced.skel.h"
}

namespace ktraced {
namespace {

// What libbpf says while an object is loaded. Its print function has no context
// argument, so this is the one piece of state that is not handed around.
thread_local std::string* libbpf_log = nullptr;

int collect_libbpf_log(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || libbpf_log == nullptr) return 0;
  std::array<char, 4096> line{};
  int length = std::vsnprintf(line.data(), line.size(), format, arguments);
  libbpf_log->append(line.data());
  return length;
}

class LibbpfLog {
 public:
  LibbpfLog() : previous_(libbpf_set_print(collect_libbpf_log)) { libbpf_log = &text_; }
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;
  ~LibbpfLog() {
    libbpf_log = nullptr;
    libbpf_set_print(previous_);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  libbpf_print_fn_t previous_;
};

// The program that made loading fail, from libbpf's log; empty if it was something else.
std::string refused_program(const std::string& log) {
  static const std::regex pattern("prog '([a-z0-9_]+)': failed to load");
  std::smatch match;
  return std::regex_search(log, match, pattern) ? match[1].str() : std::string();
}

// The verifier's last word on a refused program.
std::string refusal_reason(const std::string& log) {
  std::string reason = "unknown reason";
  for (size_t begin = 0; begin < log.size();) {
    size_t end = std::min(log.find('\n', begin), log.size());
    std::string line = log.substr(begin, end - begin);
    if (line.starts_with("processed ")) break;
    if (!line.empty() && !line.starts_with("libbpf:") && !line.starts_with(";")) reason = line;
    begin = end + 1;
  }
  return reason;
}

// The one variable of a section of its own: before loading its initial value,
// afterwards the memory it shares with the kernel.
template <class T>
T* variable(bpf_map* section) {
  size_t size = 0;
  // libbpf before 1.3 declares the memory const, although it is there to be written.
  auto* value =
      section != nullptr
          ? const_cast<void*>(static_cast<const void*>(bpf_map__initial_value(section, &size)))
          : nullptr;
  return size >= sizeof(T) ? static_cast<T*>(value) : nullptr;
}

std::unexpected<Error> load_failure(int error, const std::string& log) {
  if (error == EPERM || error == EACCES)
    return fail(ExitCode::no_permission,
                "the kernel does not allow loading BPF programs ({}): run as root, or with the "
                "capabilities CAP_BPF and CAP_PERFMON",
                errno_text(error));
  return fail(ExitCode::unavailable, "cannot load the BPF programs: {}; libbpf says: {}",
              errno_text(error), log);
}

// Sizes that depend on the machine and the configuration; false if a map is missing.
bool set_sizes(bpf_object* object, const BpfSizes& sizes) {
  auto map = [&](const char* name) { return bpf_object__find_map_by_name(object, name); };
  auto* layout = variable<struct layout>(map(".rodata.layout"));
  if (layout == nullptr) return false;
  layout->cpus = static_cast<uint32_t>(libbpf_num_possible_cpus());
  layout->flight_bytes = sizes.flight_bytes;
  bpf_map* flight_rings = map("flight_rings");
  return bpf_map__set_max_entries(map("stream_rings"), layout->cpus) == 0 &&
         bpf_map__set_max_entries(map("cpu_states"), layout->cpus) == 0 &&
         bpf_map__set_max_entries(flight_rings, layout->cpus * sizes.flight_banks) == 0 &&
         bpf_map__set_value_size(bpf_map__inner_map(flight_rings),
                                 sizeof(flight_header) + sizes.flight_bytes + FLIGHT_SPILL) == 0;
}

}  // namespace

std::span<const std::byte> bpf_object_bytes() {
  size_t size = 0;
  const void* data = ktraced_bpf__elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

void BpfObject::Deleter::operator()(bpf_object* object) const { bpf_object__close(object); }
void BpfObject::Deleter::operator()(bpf_link* link) const { bpf_link__destroy(link); }
BpfObject::BpfObject(BpfObject&&) noexcept = default;
BpfObject& BpfObject::operator=(BpfObject&&) noexcept = default;
BpfObject::~BpfObject() = default;

Result<BpfObject::Object> BpfObject::open(const struct features& features, const BpfSizes& sizes,
                                          const std::map<std::string, std::string>& left_out) {
  auto bytes = bpf_object_bytes();
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "ktraced");
  Object object(bpf_object__open_mem(bytes.data(), bytes.size(), &options));
  if (!object) return fail(ExitCode::software, "the built-in BPF object is not valid");

  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get())
      bpf_program__set_autoload(program, !left_out.contains(bpf_program__name(program)));

  if (!set_sizes(object.get(), sizes))
    return fail(ExitCode::software, "the built-in BPF object is incomplete");
  auto* flags =
      variable<struct features>(bpf_object__find_map_by_name(object.get(), ".rodata.features"));
  if (flags == nullptr)
    return fail(ExitCode::software, "the built-in BPF object has no feature flags");
  *flags = features;
  return object;
}

Result<BpfObject> BpfObject::load(const Schema& schema, const KernelFeatures& features,
                                  const BpfSizes& sizes) {
  BpfObject self;
  self.unavailable_ = features.unavailable;
  for (size_t attempt = 0; attempt <= schema.events().size(); ++attempt) {
    LibbpfLog log;
    auto object = open(features.flags, sizes, self.unavailable_);
    if (!object) return pass_on(object);
    int error = -bpf_object__load(object->get());
    if (error == 0) {
      self.object_ = std::move(*object);
      if (auto ready = self.calibrate(); !ready) return pass_on(ready);
      return self;
    }
    std::string refused = refused_program(log.text());
    if (error == EPERM || refused.empty() || self.unavailable_.contains(refused))
      return load_failure(error, log.text());
    self.unavailable_[refused] =
        fmt::format("the kernel refuses its program: {}", refusal_reason(log.text()));
    spdlog::debug("{}", log.text());
  }
  return fail(ExitCode::unavailable, "the kernel refuses every BPF program");
}

// Lets the programs find out what only they can: the daemon's process id as the
// kernel sees it.
Result<> BpfObject::calibrate() {
  control_ = variable<struct control>(map(".data.control"));
  if (control_ == nullptr)
    return fail(ExitCode::software, "the BPF object's control block cannot be mapped");
  LIBBPF_OPTS(bpf_test_run_opts, options);
  bpf_program* program = bpf_object__find_program_by_name(object_.get(), "calibrate");
  if (int error = -bpf_prog_test_run_opts(bpf_program__fd(program), &options); error != 0)
    return fail(ExitCode::unavailable, "cannot run a BPF program once at start: {}",
                errno_text(error));
  return {};
}

Result<> BpfObject::attach(const std::string& name) {
  if (links_.contains(name)) return {};
  bpf_program* program = bpf_object__find_program_by_name(object_.get(), name.c_str());
  if (program == nullptr || bpf_program__fd(program) < 0)
    return fail(ExitCode::unavailable, "'{}' has no loaded program", name);
  LibbpfLog log;
  Link link(bpf_program__attach(program));
  if (!link) return fail(ExitCode::unavailable, "cannot attach '{}': {}", name, errno_text(errno));
  links_.emplace(name, std::move(link));
  return {};
}

void BpfObject::detach(const std::string& name) { links_.erase(name); }

bool BpfObject::attached(const std::string& name) const { return links_.contains(name); }

uint64_t BpfObject::missed(const std::string& name) const {
  bpf_program* program = bpf_object__find_program_by_name(object_.get(), name.c_str());
  if (program == nullptr || bpf_program__fd(program) < 0) return 0;
  bpf_prog_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &length) != 0) return 0;
  return info.recursion_misses;
}

bpf_map* BpfObject::map(const char* name) const {
  return bpf_object__find_map_by_name(object_.get(), name);
}

int BpfObject::map_fd(const char* name) const { return bpf_map__fd(map(name)); }

uint32_t BpfObject::map_capacity(const char* name) const { return bpf_map__max_entries(map(name)); }

}  // namespace ktraced
