// Runs one fuzz target without libFuzzer: its seeds as they are, mutations of them, and noise;
// always the same inputs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/types/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kRounds = 20000;
constexpr std::size_t kNoiseBytesMax = 512;
constexpr std::size_t kInputBytesMax = 1U << 16U;

std::vector<std::string> read_seeds(int count, char** folders) {
  std::vector<std::string> seeds{""};
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(folders[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  std::sort(seeds.begin(), seeds.end());  // A folder is listed in any order.
  return seeds;
}

void mutate(muster::Rng& rng, std::string& text) {
  if (text.empty()) return;
  const std::size_t at = rng.below(text.size());
  switch (rng.below(5)) {
    case 0:
      text[at] = static_cast<char>(rng.below(256));
      break;
    case 1:
      text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << rng.below(8)));
      break;
    case 2:
      text.resize(at);
      break;
    case 3:
      text.insert(at, rng.between(1, 8), static_cast<char>(rng.below(256)));
      break;
    default:
      text.insert(at, text.substr(rng.below(text.size()), rng.between(1, 64)));
      break;
  }
  if (text.size() > kInputBytesMax) text.resize(kInputBytesMax);
}

std::string noise(muster::Rng& rng) {
  std::string text(rng.below(kNoiseBytesMax), '\0');
  for (char& c : text) c = static_cast<char>(rng.below(256));
  return text;
}

void run(const std::string& text) {
  std::vector<std::uint8_t> exact(text.begin(),
                                  text.end());  // No byte of slack behind it for ASan to miss.
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds = read_seeds(argc, argv);
  for (const std::string& seed : seeds) run(seed);
  muster::Rng rng(1);
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::string text = rng.chance(200) ? noise(rng) : seeds[rng.below(seeds.size())];
    for (std::uint64_t i = rng.below(4); i > 0; --i) mutate(rng, text);
    run(text);
  }
  std::printf("%zu seeds, %zu mutations\n", seeds.size() - 1, kRounds);
  return 0;
}
