// Files and directories around a submission.
#include "submit/cli/submit_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/types/text.h"

namespace muster {

namespace {

Error unreadable(const std::string& path, const std::string& why, const std::string& next) {
  return fail(ErrorCode::kInvalid,
              escape_for_terminal(path) + ": " + why + (next.empty() ? "" : "; " + next));
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  char buffer[65536];
  while (text.size() <= kScriptBytesMax) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return unreadable(path, std::string("cannot read the script: ") + std::strerror(errno), "");
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

Result<void> check_output(const std::string& pattern, const char* option,
                          const LaunchSpec& launch) {
  if (pattern == "/dev/null") return {};
  const std::size_t slash = pattern.rfind('/');
  std::string directory =
      slash == std::string::npos ? "" : pattern.substr(0, slash == 0 ? 1 : slash);
  if (directory.find('%') != std::string::npos || launch.make_directories) return {};
  if (directory.empty()) directory = launch.cwd;
  if (directory[0] != '/') directory = launch.cwd + "/" + directory;
  const std::string what =
      std::string("--") + option + ": the directory " + escape_for_terminal(directory);
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0) {
    const bool missing = errno == ENOENT;
    return fail(ErrorCode::kInvalid,
                what + ": " + std::strerror(errno) +
                    (missing ? "; make it, or add --mkdir" : "; choose one that you may use"));
  }
  if (!S_ISDIR(facts.st_mode)) return fail(ErrorCode::kInvalid, what + " is no directory");
  if (access(directory.c_str(), W_OK | X_OK) == 0) return {};
  return fail(ErrorCode::kInvalid, what + " cannot be written: " + std::strerror(errno) +
                                       "; choose another with --" + option);
}

}  // namespace

Result<std::string> read_script(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    return unreadable(path, std::string("cannot open the script: ") + std::strerror(errno),
                      "to run a program, type: gpusubmit -- PROGRAM");
  }
  struct stat facts {};
  if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
    close(fd);
    return unreadable(path, "is a directory, not a script", "");
  }
  auto text = read_all(fd, path);
  close(fd);
  return text;
}

std::string current_directory() {
  char path[PATH_MAX];
  return getcwd(path, sizeof(path)) == nullptr || path[0] != '/' ? "" : std::string(path);
}

std::uint32_t current_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

std::vector<std::string_view> own_environment() {
  std::vector<std::string_view> entries;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) entries.emplace_back(*at);
  return entries;
}

Result<void> check_directories(const LaunchSpec& launch) {
  struct stat facts {};
  const std::string what = "the directory " + escape_for_terminal(launch.cwd);
  if (stat(launch.cwd.c_str(), &facts) != 0) {
    return fail(ErrorCode::kInvalid, what + " cannot be entered: " + std::strerror(errno) +
                                         "; choose another with --chdir");
  }
  if (!S_ISDIR(facts.st_mode))
    return fail(ErrorCode::kInvalid, what + " is no directory; choose another with --chdir");
  if (access(launch.cwd.c_str(), X_OK) != 0) {
    return fail(ErrorCode::kInvalid, what + " cannot be entered: " + std::strerror(errno) +
                                         "; choose another with --chdir");
  }
  if (auto fine = check_output(launch.output, "output", launch); !fine) return fine;
  return launch.error.empty() ? Result<void>() : check_output(launch.error, "error", launch);
}

}  // namespace muster
