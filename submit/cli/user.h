// Who runs this command.
#pragma once

#include <string>

namespace muster {

// The name of the real uid, or the uid in digits when it has none.
std::string own_user_name();

}  // namespace muster
