// Runs bin/gpusim of this build.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace muster {

struct GpusimEnded {
  std::string printed;  // Both streams.
  int status = -1;
};

// arguments begin with the experiment: "openb …", "replay …".
inline GpusimEnded gpusim(const std::string& arguments) {
  GpusimEnded ended;
  const std::string line = std::string(MUSTER_BINARY_DIR) + "/bin/gpusim " + arguments + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  std::array<char, 4096> piece{};
  while (std::fgets(piece.data(), static_cast<int>(piece.size()), pipe) != nullptr)
    ended.printed += piece.data();
  ended.status = WEXITSTATUS(pclose(pipe));
  return ended;
}

}  // namespace muster
