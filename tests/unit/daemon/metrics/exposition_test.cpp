// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/exposition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace ktraced {
namespace {

TEST(Exposition, WritesFamiliesAndSamples) {
  Exposition out(MetricsFormat::prometheus);
  out.counter("a_total", "How many.").sample(1).sample(2, {{"x", "y"}, {"z", ""}});
  out.gauge("b", "How much.").sample(-1).sample(0.25);
  EXPECT_EQ(std::move(out).finish(),
            "# HELP a_total How many.\n# TYPE a_total counter\na_total 1\n"
            "a_total{x=\"y\",z=\"\"} 2\n"
            "# HELP b How much.\n# TYPE b gauge\nb -1\nb 0.25\n");
}

TEST(Exposition, NamesCountersWithoutSuffixInOpenMetrics) {
  Exposition out(MetricsFormat::openmetrics);
  out.counter("a_total", "How many.").sample(uint64_t{18446744073709551615U});
  EXPECT_EQ(std::move(out).finish(),
            "# HELP a How many.\n# TYPE a counter\na_total 18446744073709551615\n# EOF\n");
}

TEST(Exposition, EscapesLabelValues) {
  Exposition out(MetricsFormat::prometheus);
  out.gauge("a", "").sample(1, {{"x", "quote \" backslash \\ line\nend"}});
  EXPECT_EQ(std::move(out).finish(),
            "# HELP a \n# TYPE a gauge\na{x=\"quote \\\" backslash \\\\ line\\nend\"} 1\n");
}

TEST(Exposition, EscapesHelpAsTheFormatHasIt) {
  Exposition prometheus(MetricsFormat::prometheus), openmetrics(MetricsFormat::openmetrics);
  prometheus.gauge("a", "\"b\"\\\n");
  openmetrics.gauge("a", "\"b\"\\\n");
  EXPECT_EQ(std::move(prometheus).finish(), "# HELP a \"b\"\\\\\\n\n# TYPE a gauge\n");
  EXPECT_EQ(std::move(openmetrics).finish(), "# HELP a \\\"b\\\"\\\\\\n\n# TYPE a gauge\n# EOF\n");
}

TEST(Exposition, WritesNumbersThatAreNotFinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  Exposition out(MetricsFormat::prometheus);
  out.gauge("a", "").sample(infinite).sample(-infinite);
  out.sample(std::numeric_limits<double>::quiet_NaN()).sample(1e300);
  EXPECT_EQ(std::move(out).finish(),
            "# HELP a \n# TYPE a gauge\na +Inf\na -Inf\na NaN\na 1e+300\n");
}

}  // namespace
}  // namespace ktraced
