// SPDX-License-Identifier: BSD-2-Clause
// How much a test does.
#pragma once

namespace ktraced::live {

// `count`, made smaller where the environment variable KTRACED_TEST_SCALE tells by how much to
// divide the large loads: on an emulated processor everything takes many times as long.
[[nodiscard]] long scaled(long count);

}  // namespace ktraced::live
