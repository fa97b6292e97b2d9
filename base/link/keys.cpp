// Transport keys and the files they lie in.
#include "base/link/keys.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::size_t kKeyFileBytesMax = 4096;
constexpr std::string_view kPublicWord = "public-key";
constexpr std::string_view kSecretWord = "secret-key";

std::string errno_text() { return std::generic_category().message(errno); }

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

Result<std::string> read_small(int fd, const std::string& path) {
  std::string text(kKeyFileBytesMax + 1, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t n = read(fd, text.data() + filled, text.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::kUnavailable, "key file " + path + ": " + errno_text());
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  if (filled > kKeyFileBytesMax) {
    return fail(ErrorCode::kInvalid, "key file " + path + ": too long to be one");
  }
  text.resize(filled);
  return text;
}

Result<void> check_private(int fd, const std::string& path) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0) {
    return fail(ErrorCode::kUnavailable, "key file " + path + ": " + errno_text());
  }
  if (!S_ISREG(facts.st_mode)) {
    return fail(ErrorCode::kInvalid, "key file " + path + ": not a regular file");
  }
  if (facts.st_uid != geteuid()) {
    return fail(ErrorCode::kInvalid, "key file " + path + ": belongs to uid " +
                                         std::to_string(facts.st_uid) + ", not to this daemon's");
  }
  if ((facts.st_mode & 0177U) != 0) {
    return fail(ErrorCode::kInvalid,
                "key file " + path + ": others may read or change it; type: chmod 600 " + path);
  }
  return {};
}

std::optional<std::string> word_after(const std::string& text, std::string_view name) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == name && words >> word) return word;
  }
  return std::nullopt;
}

Result<KeyPair> parse_pair(const std::string& text, const std::string& path) {
  const auto public_key = word_after(text, kPublicWord);
  const auto secret_key = word_after(text, kSecretWord);
  if (!public_key || !secret_key) {
    return fail(ErrorCode::kInvalid,
                "key file " + path + ": needs a line public-key and a line secret-key");
  }
  if (!check_public_key(*public_key) || !check_public_key(*secret_key)) {
    return fail(ErrorCode::kInvalid, "key file " + path + ": a key is not 40 characters of Z85");
  }
  std::array<char, kKeyTextBytes + 1> derived{};
  if (zmq_curve_public(derived.data(), secret_key->c_str()) != 0 ||
      *public_key != std::string_view(derived.data())) {
    return fail(ErrorCode::kInvalid,
                "key file " + path + ": its public key does not belong to its secret key");
  }
  return KeyPair{*public_key, *secret_key};
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::kUnavailable, "key file " + path + ": " + errno_text());
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fsync(fd) != 0) {
    return fail(ErrorCode::kUnavailable, "key file " + path + ": " + errno_text());
  }
  return {};
}

void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.fd() >= 0) fsync(file.fd());
}

// False when somebody else was faster; then theirs counts.
Result<bool> write_new(const std::string& path, const KeyPair& pair) {
  static std::atomic<std::uint32_t> count{0};
  const std::string draft =
      path + ".new." + std::to_string(getpid()) + "." + std::to_string(count.fetch_add(1));
  unlink(draft.c_str());  // Of an earlier process of that number.
  Result<void> written;
  {
    const File file(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         S_IRUSR | S_IWUSR));
    if (file.fd() < 0) {
      return fail(ErrorCode::kUnavailable, "key file " + draft + ": " + errno_text());
    }
    std::string text = std::string(kPublicWord) + " " + pair.public_key + "\n" +
                       std::string(kSecretWord) + " " + pair.secret_key + "\n";
    written = write_all(file.fd(), text, draft);
    sodium_memzero(text.data(), text.size());
  }
  const bool linked = written.ok() && link(draft.c_str(), path.c_str()) == 0;
  const int why = errno;
  unlink(draft.c_str());
  if (!written) return written.error();
  sync_folder_of(path);
  if (!linked && why != EEXIST) {
    return fail(ErrorCode::kUnavailable,
                "key file " + path + ": " + std::generic_category().message(why));
  }
  return linked;
}

}  // namespace

KeyPair make_key_pair() {
  std::array<char, kKeyTextBytes + 1> public_key{};
  std::array<char, kKeyTextBytes + 1> secret_key{};
  MUSTER_ASSERT(zmq_curve_keypair(public_key.data(), secret_key.data()) == 0);
  return {public_key.data(), secret_key.data()};
}

Result<void> check_public_key(std::string_view text) {
  if (text.size() != kKeyTextBytes) {
    return fail(ErrorCode::kInvalid,
                "a key has 40 characters of Z85, not " + std::to_string(text.size()));
  }
  std::array<std::uint8_t, 32> bytes{};
  const std::string copy(text);
  if (copy.find('\0') != std::string::npos ||
      zmq_z85_decode(bytes.data(), copy.c_str()) == nullptr) {
    return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(text) + "\" is not Z85");
  }
  return {};
}

Result<KeyPair> load_key(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.fd() < 0) {
    const ErrorCode code = errno == ENOENT  ? ErrorCode::kNotFound
                           : errno == ELOOP ? ErrorCode::kInvalid
                                            : ErrorCode::kUnavailable;
    return fail(code, "key file " + path + ": " + errno_text());
  }
  if (auto checked = check_private(file.fd(), path); !checked) return checked.error();
  auto text = read_small(file.fd(), path);
  if (!text) return text.error();
  auto pair = parse_pair(*text, path);
  sodium_memzero(text->data(), text->size());
  return pair;
}

Result<KeyPair> load_or_make_key(const std::string& path) {
  auto loaded = load_key(path);
  if (loaded || loaded.error().code != ErrorCode::kNotFound) return loaded;
  auto made = write_new(path, make_key_pair());
  if (!made) return made.error();
  return load_key(path);
}

Result<std::string> public_key_from(const std::string& text_or_path) {
  if (check_public_key(text_or_path)) return text_or_path;
  const File file(open(text_or_path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.fd() < 0) {
    return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(text_or_path) +
                                         "\" is neither a public key (40 characters of Z85) nor "
                                         "a file that can be read");
  }
  auto text = read_small(file.fd(), text_or_path);
  if (!text) return text.error();
  if (const auto named = word_after(*text, kPublicWord); named && check_public_key(*named)) {
    return *named;
  }
  std::istringstream words(*text);
  for (std::string word; words >> word && word != kSecretWord;) {
    if (check_public_key(word)) return word;
  }
  return fail(ErrorCode::kInvalid, "file " + text_or_path + ": no public key in it");
}

}  // namespace muster
