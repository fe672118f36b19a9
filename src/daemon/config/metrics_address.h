// SPDX-License-Identifier: BSD-2-Clause
// Where the metrics are served.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/config/config_node.h"

namespace ktraced {

// A Unix socket, or a port of a loopback address.
struct MetricsAddress {
  std::filesystem::path path;  // of the socket; empty: `host` and `port`
  std::string host;            // "127.0.0.1", "::1"
  uint16_t port = 0;

  [[nodiscard]] bool is_ipv6() const { return host.contains(':'); }
  // The form that the configuration has: "/run/ktraced/metrics.sock", "[::1]:9464".
  [[nodiscard]] std::string text() const;
  bool operator==(const MetricsAddress&) const = default;
};

// Where metrics are served now.
struct MetricsPlace {
  MetricsAddress address;
  bool passed = false;  // the service manager has made the socket, else metrics.listen names it
};

// The rule of metrics.listen: /PATH, unix:/PATH, 127.X.Y.Z:PORT or [::1]:PORT, or an empty text.
extern const TextRule kMetricsListenText;
// The address in such a text; nothing if it is empty.
[[nodiscard]] std::optional<MetricsAddress> metrics_address(std::string_view listen);

}  // namespace ktraced
