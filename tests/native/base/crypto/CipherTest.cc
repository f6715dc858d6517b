#include "base/crypto/Cipher.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/Error.h"

namespace bloomery {
namespace {

const std::string kZeros(64, '0');
const std::string kOther = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";

std::vector<std::byte> bytes(size_t count, int factor = 7) {
  std::vector<std::byte> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<std::byte>(i * static_cast<size_t>(factor) + 1);
  return values;
}

std::vector<std::byte> applied(const std::string& key, uint64_t number, uint64_t offset,
                               const std::vector<std::byte>& from) {
  std::vector<std::byte> to(from.size());
  Cipher(readCipherKey(key, "key")).apply(number, offset, from, to.data());
  return to;
}

// The first vector of NIST's AESAVS, variable text, 256 bits: what AES makes of the counter 1000...0.
TEST(Cipher, isAes256) {
  const unsigned char wanted[] = {0xdd, 0xc6, 0xbf, 0x79, 0x0c, 0x15, 0x76, 0x0d,
                                  0x8d, 0x9a, 0xeb, 0x6f, 0x9a, 0x75, 0xfd, 0x4e};
  auto made = applied(kZeros, uint64_t{1} << 63, 0, std::vector<std::byte>(16));
  EXPECT_EQ(std::memcmp(made.data(), wanted, sizeof(wanted)), 0);
}

TEST(Cipher, anyPieceComesBackByItself) {
  auto plain = bytes(5000);
  auto secret = applied(kOther, 3, 160, plain);
  EXPECT_NE(secret, plain);
  EXPECT_EQ(applied(kOther, 3, 160, secret), plain);
  Cipher cipher(readCipherKey(kOther, "key"));
  for (size_t first : {0u, 1u, 15u, 16u, 17u, 1000u, 4999u}) {
    for (size_t count : {1u, 16u, 33u}) {
      if (first + count > plain.size()) continue;
      std::vector<std::byte> piece(secret.begin() + static_cast<int64_t>(first),
                                   secret.begin() + static_cast<int64_t>(first + count));
      cipher.apply(3, 160 + first, piece, piece.data());
      EXPECT_EQ(std::memcmp(piece.data(), &plain[first], count), 0) << first << " " << count;
    }
  }
}

TEST(Cipher, numbersKeysAndOffsetsGiveDifferentTexts) {
  auto plain = bytes(64);
  auto secret = applied(kOther, 3, 0, plain);
  EXPECT_NE(applied(kOther, 4, 0, plain), secret);
  EXPECT_NE(applied(kOther, 3, 64, plain), secret);
  EXPECT_NE(applied(kZeros, 3, 0, plain), secret);
}

TEST(Cipher, aKeyIs64HexadecimalDigits) {
  for (const std::string& wrong : {std::string(), kZeros + "0", kOther.substr(1), "g" + kOther.substr(1)}) {
    try {
      readCipherKey(wrong, "data.encryptionKey");
      FAIL() << wrong;
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(), "Not 64 hexadecimal digits: data.encryptionKey");
    }
  }
}

}  // namespace
}  // namespace bloomery
