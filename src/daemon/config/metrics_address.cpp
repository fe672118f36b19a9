// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/metrics_address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <charconv>

#include "daemon/config/config_text.h"

namespace ktraced {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kForms =
    "must be the absolute path of a Unix socket or a loopback address with a port, like "
    "127.0.0.1:9464 or [::1]:9464";

// "9464"; nothing if it is no port, or not as a number is written.
std::optional<uint16_t> port_of(std::string_view text) {
  uint16_t port = 0;
  const auto [parsed, error] = std::from_chars(text.begin(), text.end(), port);
  if (error != std::errc{} || parsed != text.end() || text.starts_with('0')) return std::nullopt;
  return port;
}

struct HostPort {
  std::string host;
  std::optional<uint16_t> port;
};

// "[::1]:9464", "127.0.0.1:9464"
HostPort split(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {std::string(text), std::nullopt};
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::string(host), port_of(text.substr(colon + 1))};
}

bool is_address(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Without a password and encryption the metrics are not for other machines.
bool is_loopback(std::string_view text, const std::string& host) {
  in_addr ipv4{};
  if (text.starts_with("[")) return host == "::1";
  return ::inet_pton(AF_INET, host.c_str(), &ipv4) == 1 && host.starts_with("127.");
}

std::string listen_problem(std::string_view text) {
  if (text.empty()) return "";
  if (text.starts_with(kUnix)) text.remove_prefix(kUnix.size());
  if (text.starts_with('/')) {
    if (text.size() > kSocketText.max_bytes)
      return fmt::format("the path of the socket must have at most {} bytes",
                         kSocketText.max_bytes);
    return kSocketText.problem_of(text);
  }
  const HostPort where = split(text);
  if (is_loopback(text, where.host))
    return where.port ? "" : "needs a port from 1 to 65535, like 127.0.0.1:9464";
  if (!is_address(where.host)) return std::string(kForms);
  return fmt::format(
      "{} is not a loopback address: metrics are served without encryption and password, so only "
      "to this machine; let a proxy or an agent of Prometheus forward 127.0.0.1:9464",
      where.host);
}

}  // namespace

constinit const TextRule kMetricsListenText{
    .pattern =
        R"(^((unix:)?/[^\u0000]*[^/\u0000]|(127(\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}|\[::1\]):([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$)",
    .not_pattern = {},
    .max_bytes = kUnix.size() + sizeof(sockaddr_un::sun_path) - 1,
    .problem_of = listen_problem};

std::string MetricsAddress::text() const {
  if (!path.empty()) return path.string();
  return is_ipv6() ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::optional<MetricsAddress> metrics_address(std::string_view listen) {
  if (listen.empty()) return std::nullopt;
  if (listen.starts_with(kUnix)) listen.remove_prefix(kUnix.size());
  if (listen.starts_with('/')) return MetricsAddress{.path = listen, .host = {}};
  const HostPort where = split(listen);
  return MetricsAddress{.path = {}, .host = where.host, .port = where.port.value_or(0)};
}

}  // namespace ktraced
