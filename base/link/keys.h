// Transport keys of daemons: Curve25519 pairs as Z85 text, in files that only their owner can read.
#pragma once

#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

constexpr std::size_t kKeyTextBytes = 40;  // Z85 of 32 bytes.

struct KeyPair {
  std::string public_key;
  std::string secret_key;
};

// A fresh pair from the kernel's random numbers.
KeyPair make_key_pair();

// 40 characters of Z85 that stand for 32 bytes. The error says what is wrong with the text.
Result<void> check_public_key(std::string_view text);

// The pair in the file at path: two lines, "public-key Z85" and "secret-key Z85". kNotFound when
// there is none; kInvalid when another user could read or change it (owner not ours, a mode with
// bits beyond 0600, a link, not a file) or its halves do not belong together.
Result<KeyPair> load_key(const std::string& path);

// Loads, or makes a pair and writes it with mode 0600 (durably, never over an existing file) when
// there is none.
Result<KeyPair> load_or_make_key(const std::string& path);

// A public key given as Z85 or as the path of a file whose first word that is one counts
// ("public-key Z85" lines too).
Result<std::string> public_key_from(const std::string& text_or_path);

}  // namespace muster
