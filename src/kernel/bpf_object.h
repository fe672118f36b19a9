// The BPF programs and maps in the running kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/error.h"
#include "base/mapping.h"
#include "bpf/shared_state.h"
#include "schema/schema.h"

struct bpf_object;
struct bpf_link;
struct bpf_map;

namespace ktraced {

struct KernelFeatures;

// The bytes of the BPF object as built into this program; its BTF holds the schema.
[[nodiscard]] std::span<const std::byte> bpf_object_bytes();

// What cannot be changed after loading.
struct BpfSizes {
  uint32_t flight_bytes = 64U << 10;  // of each flight ring; a power of two
  uint32_t flight_banks = 2;
};

// Owns the loaded object: maps, programs and their attachments. Programs are
// loaded but not attached; an event whose program is detached costs nothing.
class BpfObject {
 public:
  // Loads every program whose hook this kernel has. A program the kernel refuses
  // is left out and listed in unavailable(). Fails with ExitCode::no_permission
  // or ExitCode::unavailable when nothing can be loaded.
  static Result<BpfObject> load(const Schema& schema, const KernelFeatures& features,
                                const BpfSizes& sizes);

  BpfObject(BpfObject&&) noexcept;
  BpfObject& operator=(BpfObject&&) noexcept;
  ~BpfObject();

  // Attaches or detaches the program of an event (or a helper program) by name.
  // Attaching twice is no error. Fails with ExitCode::unavailable.
  Result<> attach(const std::string& program);
  void detach(const std::string& program);
  [[nodiscard]] bool attached(const std::string& program) const;

  // Hits of an event's program that the kernel skipped because the program was
  // running already on that CPU; since loading, over all CPUs.
  [[nodiscard]] uint64_t missed(const std::string& program) const;

  // Event or program name → why this kernel cannot have it.
  [[nodiscard]] const std::map<std::string, std::string>& unavailable() const {
    return unavailable_;
  }

  // State the programs read; the daemon changes it in place.
  [[nodiscard]] struct control& control() const { return *control_; }
  // File descriptor of a map, owned by this object. The name must be one of bpf/maps.h.
  [[nodiscard]] int map_fd(const char* name) const;
  [[nodiscard]] uint32_t map_capacity(const char* name) const;

 private:
  struct Deleter {
    void operator()(bpf_object* object) const;
    void operator()(bpf_link* link) const;
  };
  using Object = std::unique_ptr<bpf_object, Deleter>;
  using Link = std::unique_ptr<bpf_link, Deleter>;

  BpfObject() = default;
  static Result<Object> open(const struct features& features, const BpfSizes& sizes,
                             const std::map<std::string, std::string>& left_out);
  [[nodiscard]] bpf_map* map(const char* name) const;
  Result<> calibrate();

  Object object_;
  struct control* control_ = nullptr;
  std::map<std::string, Link> links_;
  std::map<std::string, std::string> unavailable_;
};

}  // namespace ktraced
