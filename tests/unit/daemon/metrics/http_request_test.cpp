// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/http_request.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace ktraced {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPlainGet = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

// The status of a refused request; 0: it is accepted; -1: it is not complete.
int refusal_of(std::string_view input) {
  const auto parsed = parse_http_request(input);
  if (!parsed) return -1;
  const auto* refusal = std::get_if<HttpRefusal>(&parsed->request);
  return refusal == nullptr ? 0 : refusal->status;
}

int refusal_of_field(std::string_view field) {
  return refusal_of(fmt::format("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n", field));
}

HttpRequest request_of(std::string_view input) {
  const auto parsed = parse_http_request(input);
  EXPECT_TRUE(parsed && std::holds_alternative<HttpRequest>(parsed->request)) << input;
  return parsed ? std::get<HttpRequest>(parsed->request) : HttpRequest{};
}

TEST(HttpRequest, ReadsWhatIsNeeded) {
  const HttpRequest get = request_of(kPlainGet);
  EXPECT_EQ(get.path, "/metrics");
  EXPECT_FALSE(get.head);
  EXPECT_TRUE(get.keep_alive);
  EXPECT_EQ(get.format, MetricsFormat::prometheus);
  EXPECT_TRUE(request_of("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").head);
  EXPECT_FALSE(request_of("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_FALSE(
      request_of("GET / HTTP/1.1\r\nhost:x\r\nConnection: foo , Close\r\n\r\n").keep_alive);
}

TEST(HttpRequest, ReadsPathsAndUrls) {
  const auto path = [](std::string_view target) {
    return request_of(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", target)).path;
  };
  EXPECT_EQ(path("/metrics?name=a&b"), "/metrics");
  EXPECT_EQ(path("http://localhost:9464/metrics"), "/metrics");
  EXPECT_EQ(path("HTTP://localhost"), "/");
}

TEST(HttpRequest, RecognizesLoopbackHosts) {
  const auto loopback = [](std::string_view host) {
    return request_of(fmt::format("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host)).loopback;
  };
  for (const char* host : {"localhost", "LocalHost:9464", "127.0.0.1", "127.0.0.1:9464",
                           "127.1.2.3:1", "[::1]", "[::1]:9464", "localhost:"})
    EXPECT_TRUE(loopback(host)) << host;
  for (const char* host : {"evil.example",
                           "evil.example:9464",
                           "localhost.evil.example",
                           "127.0.0.1.evil.example",
                           "evil.localhost:80",
                           "128.0.0.1",
                           "127.1",
                           "127.0.0.1:x",
                           "0.0.0.0",
                           "10.0.0.1:9464",
                           "[::2]",
                           "[::1",
                           "[::1]x",
                           "[::1]1",
                           "[::1].evil.example",
                           "::1",
                           "localhost evil",
                           "localhost:1:2",
                           ":9464",
                           ""})
    EXPECT_FALSE(loopback(host)) << host;
  EXPECT_TRUE(request_of("GET / HTTP/1.0\r\n\r\n").loopback) << "names none";
}

TEST(HttpRequest, TakesTheHostOfAUrlToo) {
  const auto loopback = [](std::string_view url) {
    return request_of(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", url)).loopback;
  };
  EXPECT_TRUE(loopback("http://127.0.0.1:9464/metrics"));
  EXPECT_FALSE(loopback("http://evil.example/metrics"));
  EXPECT_FALSE(loopback("http://evil@localhost/metrics"));
}

TEST(HttpRequest, ChoosesTheFormatThatIsAccepted) {
  const auto format = [](std::string_view accept) {
    return request_of(fmt::format("GET / HTTP/1.1\r\nHost: x\r\nAccept: {}\r\n\r\n", accept))
        .format;
  };
  EXPECT_EQ(format("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            MetricsFormat::openmetrics);
  EXPECT_EQ(format("text/plain, application/openmetrics-text"), MetricsFormat::openmetrics);
  EXPECT_EQ(format("text/plain"), MetricsFormat::prometheus);
  EXPECT_EQ(format("*/*"), MetricsFormat::prometheus);
}

TEST(HttpRequest, TakesOneOfSeveralPipelined) {
  const std::string first = kPlainGet, second = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";
  const auto parsed = parse_http_request(first + second);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->size, first.size());
  EXPECT_EQ(request_of("\r\n" + second).path, "/b") << "an empty line before is skipped";
  EXPECT_EQ(parse_http_request("\r\n" + second)->size, second.size() + 2);
}

TEST(HttpRequest, NeedsTheWholeHead) {
  for (size_t size = 0; size < kPlainGet.size(); ++size)
    EXPECT_EQ(refusal_of(kPlainGet.substr(0, size)), -1) << size;
  EXPECT_EQ(refusal_of(kPlainGet), 0);
}

TEST(HttpRequest, RefusesOtherMethodsAndVersions) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "CONNECT", "PRI"})
    EXPECT_EQ(refusal_of(fmt::format("{} / HTTP/1.1\r\nHost: x\r\n\r\n", method)), 405) << method;
  EXPECT_EQ(refusal_of("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(refusal_of("GET / HTTP/0.9\r\n\r\n"), 505);
}

TEST(HttpRequest, RefusesBadRequestLines) {
  for (const char* line :
       {"GET", "GET /", "GET / HTTP/1.1 ", "GET  / HTTP/1.1", "GET / http/1.1", " GET / HTTP/1.1",
        "GET / HTTP/1.", "GET / HTTP/11", "GET / HTTP/a.b", "G(T / HTTP/1.1", "GET x HTTP/1.1",
        "GET * HTTP/1.1", "GET /\t HTTP/1.1", "GET /\xc3\xa9 HTTP/1.1", "GET /a b HTTP/1.1"})
    EXPECT_EQ(refusal_of(fmt::format("{}\r\nHost: x\r\n\r\n", line)), 400) << line;
}

TEST(HttpRequest, RefusesBadFields) {
  for (const char* field :
       {"x", ": x", "a b: x", "a : x", " folded", "\tfolded", "\xff: x", "Host: y"})
    EXPECT_EQ(refusal_of_field(field), 400) << field;
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(refusal_of_field("a:"), 0);
  EXPECT_EQ(refusal_of_field("a: \xc3\xa9"), 0);
}

TEST(HttpRequest, RefusesBodies) {
  EXPECT_EQ(refusal_of_field("Content-Length: 0"), 0);
  for (const char* field : {"Content-Length: 1", "content-length: -0", "Content-Length: 0, 5",
                            "Transfer-Encoding: chunked", "TRANSFER-ENCODING:"})
    EXPECT_EQ(refusal_of_field(field), 413) << field;
}

// Without waiting for the end of the head.
TEST(HttpRequest, RefusesControlCharactersAtOnce) {
  for (const char bad : {'\0', '\n', '\x01', '\x7f', '\x1b', '\v'}) {
    EXPECT_EQ(refusal_of(std::string("GET /") + bad), 400) << static_cast<int>(bad);
    EXPECT_EQ(refusal_of(std::string("GET / HTTP/1.1\r\nHost: x") + bad), 400);
  }
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\rHost: x"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: x\r\r\n\r\n"), 400) << "at the end of the head";
  EXPECT_EQ(refusal_of("\n"), 400);
  EXPECT_EQ(refusal_of("\x16\x03\x01"), 400) << "TLS";
}

TEST(HttpRequest, RefusesHeadsThatAreTooLong) {
  const std::string begin = "GET / HTTP/1.1\r\nHost: x\r\na: ";
  EXPECT_EQ(refusal_of(begin + std::string(kHttpHeadBytes - begin.size() - 1, 'a')), -1);
  EXPECT_EQ(refusal_of(begin + std::string(kHttpHeadBytes - begin.size(), 'a')), 431);
  EXPECT_EQ(refusal_of(std::string(kHttpHeadBytes, 'a')), 431);
  EXPECT_EQ(refusal_of("\r\n" + std::string(kHttpHeadBytes - 2, 'a')), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 63; ++i) many += "a: b\r\n";
  EXPECT_EQ(refusal_of(many + "\r\n"), 0);
  EXPECT_EQ(refusal_of(many + "a: b\r\n\r\n"), 431);
}

// Nothing is read beyond the input (with the address sanitizer), and every input of full length has
// an answer.
TEST(HttpRequest, AnswersMutatedRequests) {
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::string text = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: a, b;q=1\r\n\r\n";
    for (int change = 0; change < 3; ++change) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = static_cast<char>(random());
      else
        text.erase(at, random() % 8);
      if (text.empty()) text = "x";
    }
    const auto parsed = parse_http_request(text);
    if (parsed) {
      EXPECT_LE(parsed->size, text.size());
      EXPECT_GT(parsed->size, 0U);
    }
    EXPECT_NE(refusal_of(text + std::string(kHttpHeadBytes, 'a')), -1);
  }
}

TEST(HttpResponse, HasTheLengthAlsoWithoutTheBody) {
  const HttpAnswer answer{.status = 200, .content_type = "text/plain", .body = "12345"};
  const std::string get = http_response(answer, false, false);
  EXPECT_TRUE(get.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(get, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(get, Not(HasSubstr("Connection")));
  EXPECT_TRUE(get.ends_with("\r\n\r\n12345"));
  const std::string head = http_response(answer, true, true);
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_TRUE(head.ends_with("\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(http_response({.status = 405, .body = ""}, false, true),
              HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

}  // namespace
}  // namespace ktraced
