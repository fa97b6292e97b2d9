// Runs the built commands and reads the repository's files.
#pragma once

#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace muster {

constexpr std::array<const char*, 8> kPrograms{"gpusubmit", "gpuqueue", "gpujob",  "gpucancel",
                                               "gpulogs",   "gpuinfo",  "gpuacct", "gpuadmin"};

struct Ran {
  std::string output;  // Standard output and error.
  int status = -1;
};

inline Ran run_program(const std::string& name, const std::string& arguments) {
  Ran ran;
  const std::string line =
      std::string(MUSTER_BINARY_DIR) + "/bin/" + name + " " + arguments + " 2>&1 </dev/null";
  std::FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer;
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    ran.output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  ran.status = (status & 0x7F) == 0 ? (status >> 8) & 0xFF : -1;
  return ran;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace muster
