// SPDX-License-Identifier: BSD-2-Clause
// The part of HTTP/1.1 (RFC 9112) that a server of one resource needs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/metrics/exposition.h"

namespace ktraced {

// Longest head of a request, in bytes. Prometheus sends some 300.
inline constexpr size_t kHttpHeadBytes = 8U << 10;

// A request that is answered with a resource.
struct HttpRequest {
  std::string path;         // without the query
  bool head = false;        // HEAD: the answer has no body
  bool keep_alive = false;  // the client may send another request
  bool loopback = true;     // every host that it names is "localhost" or a loopback address
  MetricsFormat format = MetricsFormat::prometheus;  // what the client accepts
};

// A request that is refused. The connection is closed after the answer, because it is not known
// where the next request begins.
struct HttpRefusal {
  int status = 400;
  std::string_view reason;
};

struct ParsedRequest {
  size_t size = 0;  // of the request, in bytes of the input
  std::variant<HttpRequest, HttpRefusal> request;
};

// Parses the request at the beginning of `input`; nothing if more input is needed, which is never
// the case for kHttpHeadBytes or more.
[[nodiscard]] std::optional<ParsedRequest> parse_http_request(std::string_view input);

// An answer with its body. `close`: the connection ends after it; `head`: without the body.
struct HttpAnswer {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string_view body;
};
[[nodiscard]] std::string http_response(const HttpAnswer& answer, bool head, bool close);

}  // namespace ktraced
