// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/http_request.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <expected>

#include "base/text/c_text.h"

namespace ktraced {
namespace {

constexpr size_t kFieldsMax = 64;
constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kSchema = "http://";

template <class T>
using Parsed = std::expected<T, HttpRefusal>;

std::unexpected<HttpRefusal> refuse(int status, std::string_view reason) {
  return std::unexpected(HttpRefusal{.status = status, .reason = reason});
}

// A character of a token (RFC 9110): methods and names of fields are tokens.
bool is_token_char(char c) {
  return is_letter_char(c) || is_digit_char(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}
// Visible ASCII.
bool is_target_char(char c) { return c > ' ' && c < '\x7f'; }
// In a line: no control characters but tabs.
bool is_line_char(char c) {
  return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t';
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// True if a list like "a, b;q=1" has this element, parameters aside.
bool lists(std::string_view list, std::string_view element) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    if (same_word(trimmed(entry.substr(0, entry.find(';'))), element)) return true;
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
  }
  return false;
}

// The text before `end`; removes both from `rest`.
std::string_view take_until(std::string_view& rest, std::string_view end) {
  const size_t at = rest.find(end);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(std::min(rest.size(), taken.size() + end.size()));
  return taken;
}

// True for "localhost", "127.X.Y.Z" and "[::1]", each with or without a port.
bool is_loopback_host(std::string_view host) {
  const size_t end = host.starts_with('[') ? host.find(']') + 1 : host.find(':');
  const std::string_view name = host.substr(0, end), port = host.substr(name.size());
  if (!port.empty() && (port[0] != ':' || !std::ranges::all_of(port.substr(1), is_digit_char)))
    return false;
  in_addr address{};
  return same_word(name, "localhost") || name == "[::1]" ||
         (name.starts_with("127.") &&
          ::inet_pton(AF_INET, std::string(name).c_str(), &address) == 1);
}

struct Target {
  std::string path;
  std::string_view host;  // empty: the target does not name one
};

// A path, or a whole URL, which every server must accept (RFC 9112, 3.2.2).
Parsed<Target> parse_target(std::string_view target) {
  if (target.empty() || !std::ranges::all_of(target, is_target_char))
    return refuse(400, "the target of the request is invalid");
  std::string_view host;
  if (target.size() > kSchema.size() && same_word(target.substr(0, kSchema.size()), kSchema)) {
    target.remove_prefix(kSchema.size());
    host = target.substr(0, target.find('/'));
    target.remove_prefix(host.size());
    if (target.empty()) target = "/";
  }
  if (!target.starts_with('/')) return refuse(400, "the target of the request must be a path");
  return Target{.path = std::string(target.substr(0, target.find('?'))), .host = host};
}

struct RequestLine {
  HttpRequest request;
  bool host_needed = false;
};

Parsed<RequestLine> parse_request_line(std::string_view line) {
  const std::string_view method = take_until(line, " ");
  const std::string_view target = take_until(line, " ");
  const std::string_view version = line;
  if (!is_token(method)) return refuse(400, "the request does not begin with a method");
  if (version.size() != 8 || !version.starts_with("HTTP/") || !is_digit_char(version[5]) ||
      version[6] != '.' || !is_digit_char(version[7]))
    return refuse(400, "the request line does not end with a version of HTTP");
  if (version[5] != '1') return refuse(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  if (method != "GET" && method != "HEAD") return refuse(405, "only GET and HEAD are supported");
  auto parsed = parse_target(target);
  if (!parsed) return std::unexpected(parsed.error());
  const bool is_1_0 = version[7] == '0';
  return RequestLine{
      .request = {.path = std::move(parsed->path),
                  .head = method == "HEAD",
                  .keep_alive = !is_1_0,
                  .loopback = parsed->host.empty() || is_loopback_host(parsed->host)},
      .host_needed = !is_1_0};
}

// What is needed of the fields.
struct Fields {
  size_t hosts = 0;
  bool loopback = true;
  bool close = false;
  bool openmetrics = false;
};

Parsed<void> note_field(std::string_view name, std::string_view value, Fields& fields) {
  if (same_word(name, "host")) {
    ++fields.hosts;
    fields.loopback = is_loopback_host(value);
  }
  if (same_word(name, "connection")) fields.close |= lists(value, "close");
  if (same_word(name, "accept")) fields.openmetrics |= lists(value, "application/openmetrics-text");
  if (same_word(name, "transfer-encoding") ||
      (same_word(name, "content-length") && value.find_first_not_of('0') != value.npos))
    return refuse(413, "a request must not have a body");
  return {};
}

Parsed<Fields> parse_fields(std::string_view text) {
  Fields fields;
  for (size_t count = 0; !text.empty(); ++count) {
    std::string_view line = take_until(text, "\r\n");
    if (count == kFieldsMax) return refuse(431, "the request has too many fields");
    if (!line.contains(':')) return refuse(400, "a field of the request has no colon");
    const std::string_view name = take_until(line, ":");
    // Refuses lines that continue the one before, too.
    if (!is_token(name)) return refuse(400, "a field of the request has an invalid name");
    if (auto noted = note_field(name, trimmed(line), fields); !noted)
      return std::unexpected(noted.error());
  }
  return fields;
}

// `head`: without the empty line at the end.
Parsed<HttpRequest> parse_head(std::string_view head) {
  auto line = parse_request_line(take_until(head, "\r\n"));
  if (!line) return std::unexpected(line.error());
  const auto fields = parse_fields(head);
  if (!fields) return std::unexpected(fields.error());
  if (fields->hosts > 1 || (fields->hosts == 0 && line->host_needed))
    return refuse(400, "the request must have one field Host");
  line->request.keep_alive &= !fields->close;
  line->request.loopback &= fields->loopback;
  if (fields->openmetrics) line->request.format = MetricsFormat::openmetrics;
  return std::move(line->request);
}

// A lone CR or LF ends no line, so that no other program on the way can see other requests.
bool has_bad_characters(std::string_view input) {
  for (size_t i = 0; i < input.size(); ++i) {
    const bool line_end = input[i] == '\r' && (i + 1 == input.size() || input[i + 1] == '\n');
    if (line_end)
      ++i;
    else if (!is_line_char(input[i]))
      return true;
  }
  return false;
}

std::string_view phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Bad Request";
  }
}

}  // namespace

std::optional<ParsedRequest> parse_http_request(std::string_view input) {
  const auto refused = [&](int status, std::string_view reason) {
    return ParsedRequest{.size = input.size(),
                         .request = HttpRefusal{.status = status, .reason = reason}};
  };
  // Clients may send an empty line after a request.
  const size_t before = input.starts_with("\r\n") ? 2 : 0;
  const std::string_view rest = input.substr(before, kHttpHeadBytes);
  const size_t end = rest.find(kEnd);
  const std::string_view head = rest.substr(0, end);
  // With the end of its last line: the CR of that must not hide another one.
  if (has_bad_characters(end == std::string_view::npos ? rest : rest.substr(0, end + 2)))
    return refused(400, "the request has control characters");
  if (end == std::string_view::npos) {
    if (input.size() < kHttpHeadBytes) return std::nullopt;
    return refused(431, "the head of the request is longer than 8192 bytes");
  }
  auto request = parse_head(head);
  if (!request) return refused(request.error().status, request.error().reason);
  return ParsedRequest{.size = before + end + kEnd.size(), .request = std::move(*request)};
}

std::string http_response(const HttpAnswer& answer, bool head, bool close) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
      answer.status, phrase_of(answer.status), answer.content_type, answer.body.size());
  if (answer.status == 405) text += "Allow: GET, HEAD\r\n";
  if (close) text += "Connection: close\r\n";
  text += "\r\n";
  if (!head) text += answer.body;
  return text;
}

}  // namespace ktraced
