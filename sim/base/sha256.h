// SHA-256 (FIPS 180-4), so that a result can name the exact inputs it came from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessella {

// Feed bytes in any pieces, then read the digest once. O(bytes) time, O(1) space.
class Sha256 {
 public:
  void update(std::string_view bytes);
  // 64 lower-case hexadecimal digits; ends this object's life as a hasher.
  std::string hex();

 private:
  void compress(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> buffer_{};
  std::uint64_t length_ = 0; // bytes so far
};

std::string sha256_hex(std::string_view bytes);

} // namespace tessella
