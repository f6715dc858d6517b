#include "base/crypto/Secret.h"

#include <gtest/gtest.h>

#include "base/crypto/Cipher.h"

namespace bloomery {
namespace {

TEST(Secret, digestIsThatOfTheStandard) {
  // RFC 4231, test case 1, whose key of 20 bytes counts as one that is filled up with zeros.
  Secret::Bytes key{};
  for (size_t i = 0; i < 20; ++i) key[i] = std::byte(0x0b);
  EXPECT_EQ(Secret(Secret(key).digest("Hi There")).hexadecimal(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

TEST(Secret, survivesBeingWrittenDown) {
  Secret secret = Secret::random();
  Secret again(readCipherKey(secret.hexadecimal(), "secret"));
  EXPECT_EQ(again.digest("text"), secret.digest("text"));
}

TEST(Secret, differsEveryTime) {
  EXPECT_NE(Secret::random().hexadecimal(), Secret::random().hexadecimal());
  EXPECT_NE(unpredictableBytes(), unpredictableBytes());
}

TEST(Secret, comparisonSeesEveryByte) {
  Secret::Bytes bytes = unpredictableBytes();
  EXPECT_TRUE(sameBytes(bytes, Secret::Bytes(bytes)));
  for (size_t i = 0; i < bytes.size(); ++i) {
    Secret::Bytes other = bytes;
    other[i] ^= std::byte(1);
    EXPECT_FALSE(sameBytes(bytes, other)) << i;
  }
}

}  // namespace
}  // namespace bloomery
