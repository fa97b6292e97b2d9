// Ed25519 and BLAKE2b by libsodium, and the file of pinned keys.
#include "base/order/signing.h"

#include <sodium.h>

#include <charconv>
#include <cstring>

namespace muster {
namespace {

static_assert(crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_SECRETKEYBYTES == 64 &&
              crypto_sign_BYTES == 64);
constexpr std::size_t kPinnedKeysMax = 16;
constexpr std::size_t kPinnedKeysBytesMax = 16U << 10U;

void require_sodium() { MUSTER_ASSERT(sodium_init() >= 0); }

const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// The domain keeps a signature over one kind of order from being good for another, or for anything
// else.
std::string signed_message(OrderKind kind, std::string_view bytes) {
  std::string message = "muster launch order v1 ";
  message += static_cast<char>('0' + static_cast<int>(kind));
  message += '\0';
  message += bytes;
  return message;
}

Result<void> parse_key_line(std::string_view line, PinnedKeys& keys) {
  const auto bad = [] { return fail(ErrorCode::kInvalid, "expected: key ID HEX"); };
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return bad();
  PinnedKey pinned;
  const char* id_end = line.data() + space;
  const std::from_chars_result parsed = std::from_chars(line.data(), id_end, pinned.id);
  if (parsed.ec != std::errc() || parsed.ptr != id_end) return bad();
  const std::string_view hex_text = line.substr(space + 1);
  std::size_t size = 0;
  if (sodium_hex2bin(pinned.key.bytes.data(), pinned.key.bytes.size(), hex_text.data(),
                     hex_text.size(), nullptr, &size, nullptr) != 0 ||
      size != pinned.key.bytes.size() || hex_text.size() != 2 * size) {
    return bad();
  }
  for (const PinnedKey& other : keys.keys) {
    if (other.id == pinned.id) return fail(ErrorCode::kInvalid, "key id given twice");
  }
  if (keys.keys.size() == kPinnedKeysMax) return fail(ErrorCode::kInvalid, "too many keys");
  keys.keys.push_back(pinned);
  return {};
}

std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

}  // namespace

SigningKey SigningKey::generate(std::uint32_t id) {
  require_sodium();
  SigningKey key;
  key.id_ = id;
  crypto_sign_keypair(key.public_key_.bytes.data(), key.secret_.data());
  return key;
}

Result<SigningKey> SigningKey::from_seed(std::uint32_t id, std::string_view seed) {
  require_sodium();
  if (seed.size() != crypto_sign_SEEDBYTES)
    return fail(ErrorCode::kInvalid, "signing key: a seed is 32 bytes");
  SigningKey key;
  key.id_ = id;
  crypto_sign_seed_keypair(key.public_key_.bytes.data(), key.secret_.data(), unsigned_bytes(seed));
  return key;
}

SigningKey::~SigningKey() { sodium_memzero(secret_.data(), secret_.size()); }

SigningKey::SigningKey(SigningKey&& other) noexcept
    : id_(other.id_), public_key_(other.public_key_), secret_(other.secret_) {
  sodium_memzero(other.secret_.data(), other.secret_.size());
}

std::string SigningKey::seed() const {
  std::string seed(crypto_sign_SEEDBYTES, '\0');
  crypto_sign_ed25519_sk_to_seed(reinterpret_cast<unsigned char*>(seed.data()), secret_.data());
  return seed;
}

Signature SigningKey::sign(OrderKind kind, std::string_view bytes) const {
  const std::string message = signed_message(kind, bytes);
  Signature signature;
  crypto_sign_detached(signature.bytes.data(), nullptr, unsigned_bytes(message), message.size(),
                       secret_.data());
  return signature;
}

Result<void> verify_order(const PinnedKeys& keys, OrderKind kind, std::string_view bytes,
                          const Signature& signature) {
  require_sodium();
  if (bytes.size() > kCommonOrderBytesMax) return fail(ErrorCode::kInvalid, "order: too long");
  const Result<std::uint32_t> id = order_key_id(bytes);
  if (!id.ok()) return id.error();
  for (const PinnedKey& pinned : keys.keys) {
    if (pinned.id != *id) continue;
    const std::string message = signed_message(kind, bytes);
    if (crypto_sign_verify_detached(signature.bytes.data(), unsigned_bytes(message), message.size(),
                                    pinned.key.bytes.data()) == 0) {
      return {};
    }
    return fail(ErrorCode::kInvalid, "order: bad signature");
  }
  return fail(ErrorCode::kInvalid,
              "order: signed with key " + std::to_string(*id) + ", which is not pinned here");
}

Hash256 content_hash(std::string_view bytes) {
  Hash256 hash;
  if (bytes.empty()) return hash;
  crypto_generichash(hash.bytes.data(), hash.bytes.size(), unsigned_bytes(bytes), bytes.size(),
                     nullptr, 0);
  return hash;
}

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  randombytes_buf(bytes.data(), size);
  return bytes;
}

Result<PinnedKeys> parse_pinned_keys(std::string_view text) {
  if (text.size() > kPinnedKeysBytesMax)
    return fail(ErrorCode::kInvalid, "pinned keys: file too long");
  PinnedKeys keys;
  bool has_cluster = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const auto bad = [number](const std::string& why) {
      return fail(ErrorCode::kInvalid, "pinned keys, line " + std::to_string(number) + ": " + why);
    };
    if (line.empty()) continue;
    if (line.substr(0, 8) == "cluster " && !has_cluster) {
      const Result<Uuid> cluster = parse_uuid(line.substr(8));
      if (!cluster.ok()) return bad(cluster.error().message);
      keys.cluster = *cluster;
      has_cluster = true;
    } else if (line.substr(0, 4) == "key ") {
      const Result<void> parsed = parse_key_line(line.substr(4), keys);
      if (!parsed.ok()) return bad(parsed.error().message);
    } else {
      return bad("expected one line \"cluster UUID\" and lines \"key ID HEX\"");
    }
  }
  if (!has_cluster || keys.keys.empty())
    return fail(ErrorCode::kInvalid, "pinned keys: needs a cluster and a key");
  return keys;
}

std::string pinned_keys_text(const PinnedKeys& keys) {
  std::string text = "cluster " + to_text(keys.cluster) + "\n";
  for (const PinnedKey& pinned : keys.keys) {
    text += "key " + std::to_string(pinned.id) + " " +
            hex(pinned.key.bytes.data(), pinned.key.bytes.size()) + "\n";
  }
  return text;
}

}  // namespace muster
