// SPDX-License-Identifier: BSD-2-Clause
#include "base/directory.h"

#include <system_error>

namespace ktraced {

// Not a range-for: its increment throws.
void for_each_entry(const std::filesystem::path& directory,
                    const std::function<void(const std::filesystem::directory_entry&)>& visit) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    visit(*it);
}

}  // namespace ktraced
