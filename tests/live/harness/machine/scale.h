// SPDX-License-Identifier: BSD-2-Clause
// Scale of test loads.
#pragma once

namespace ktraced::live {

// `count`, divided by the environment variable KTRACED_TEST_SCALE, if set. Emulated processors are
// many times slower, so large loads are reduced there.
[[nodiscard]] long scaled(long count);

// `whole` if the environment variable KTRACED_TEST_WHOLE is set, otherwise `usual`: of loads that
// would take seconds in each run of the tests.
[[nodiscard]] long usual_or_whole(long usual, long whole);

}  // namespace ktraced::live
