// Key files.
#include "controller/host/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace muster {

namespace {

constexpr std::uint32_t kFirstKeyId = 1;
constexpr std::size_t kSeedBytes = 32;

Error trouble(const std::string& path, const char* what) {
  return fail(ErrorCode::kUnavailable, path + ": " + what + ": " + std::strerror(errno));
}

Result<void> write_file(const std::string& path, const std::string& text, mode_t mode) {
  const std::string fresh = path + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return trouble(fresh, "cannot be made");
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fchmod(fd, mode) == 0 && fsync(fd) == 0;
  close(fd);
  if (!written || rename(fresh.c_str(), path.c_str()) != 0)
    return trouble(path, "cannot be written");
  return {};
}

Result<std::string> read_secret(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return errno == ENOENT ? fail(ErrorCode::kNotFound, path) : trouble(path, "cannot be read");
  struct stat facts {};
  std::string text(kSeedBytes + 1, '\0');
  const bool known = fstat(fd, &facts) == 0;
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  if (!known || facts.st_uid != geteuid() || (facts.st_mode & 077) != 0) {
    return fail(ErrorCode::kInvalid,
                path + ": others could read or change it; chown it to this user and chmod 0600");
  }
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

Result<SigningKey> load_order_key(const std::string& path) {
  const auto seed = read_secret(path);
  if (seed) {
    auto key = SigningKey::from_seed(kFirstKeyId, *seed);
    if (!key) return fail(ErrorCode::kInvalid, path + ": is damaged; restore it from a backup");
    return key;
  }
  if (seed.error().code != ErrorCode::kNotFound) return seed.error();
  SigningKey key = SigningKey::generate(kFirstKeyId);
  if (const auto written = write_file(path, key.seed(), 0600); !written) return written.error();
  return key;
}

}  // namespace

Result<ControllerKeys> load_controller_keys(const std::string& state_dir, const Uuid& cluster) {
  const std::string directory = state_dir + "/keys";
  if (mkdir(directory.c_str(), 0711) != 0 && errno != EEXIST)
    return trouble(directory, "cannot be made");
  if (chmod(directory.c_str(), 0711) != 0)
    return trouble(directory, "cannot be opened to readers of public keys");
  auto transport = load_or_make_key(directory + "/transport.key");
  if (!transport) return transport.error();
  auto orders = load_order_key(directory + "/orders.key");
  if (!orders) return orders.error();
  if (const auto written =
          write_file(directory + "/transport.pub", transport->public_key + "\n", 0644);
      !written) {
    return written.error();
  }
  const PinnedKeys pinned{cluster, {orders->pinned()}};
  if (const auto written = write_file(directory + "/orders.pub", pinned_keys_text(pinned), 0644);
      !written) {
    return written.error();
  }
  return ControllerKeys{std::move(*transport), std::move(*orders)};
}

}  // namespace muster
