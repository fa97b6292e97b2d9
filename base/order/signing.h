// Signatures over orders: Ed25519 over a prefix that names the kind of order and the exact bytes of
// the order. A launcher pins public keys in a file; nothing in an order is looked at before its
// signature was found good.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/order/order.h"
#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster {

using PublicKey = Bytes<32>;
using Signature = Bytes<64>;

struct PinnedKey {
  std::uint32_t id = 0;
  PublicKey key;
};

// The cluster an order must name and the keys that may sign it. Several keys are good at once
// during a rotation.
struct PinnedKeys {
  Uuid cluster;
  std::vector<PinnedKey> keys;
};

// Holds a secret key; its memory is wiped when it goes.
class SigningKey {
 public:
  // A new random key.
  static SigningKey generate(std::uint32_t id);
  // kInvalid unless seed is 32 bytes.
  static Result<SigningKey> from_seed(std::uint32_t id, std::string_view seed);
  ~SigningKey();
  SigningKey(SigningKey&& other) noexcept;
  SigningKey& operator=(SigningKey&&) = delete;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  std::uint32_t id() const { return id_; }
  PinnedKey pinned() const { return {id_, public_key_}; }
  std::string seed() const;  // 32 secret bytes, for the file it is kept in.
  // bytes is an encoded order of that kind whose key_id is id().
  Signature sign(OrderKind kind, std::string_view bytes) const;

 private:
  SigningKey() = default;
  std::uint32_t id_ = 0;
  PublicKey public_key_;
  std::array<std::uint8_t, 64> secret_{};
};

// kInvalid unless a pinned key with the order's key id signed exactly these bytes as an order of
// that kind.
Result<void> verify_order(const PinnedKeys& keys, OrderKind kind, std::string_view bytes,
                          const Signature& signature);

// BLAKE2b-256; all zero for no bytes at all.
Hash256 content_hash(std::string_view bytes);

// Random bytes from the kernel, for tokens.
std::string random_bytes(std::size_t size);

// The file of pinned keys, as text: a line "cluster UUID", then lines "key ID HEX"; '#' begins a
// comment. kInvalid names the line.
Result<PinnedKeys> parse_pinned_keys(std::string_view text);
std::string pinned_keys_text(const PinnedKeys& keys);

}  // namespace muster
