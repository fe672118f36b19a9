#include "base/error.h"

#include <system_error>

namespace ktraced {

std::string errno_text(int error) { return std::generic_category().message(error); }

}  // namespace ktraced
