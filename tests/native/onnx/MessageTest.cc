#include "onnx/Message.h"

#include <gtest/gtest.h>

namespace bloomery::onnx {
namespace {

using namespace std::string_literals;

TEST(MessageTest, numbersAreVarints) {
  Message message;
  message.addNumber(1, 150);
  EXPECT_EQ(message.bytes(), "\x08\x96\x01"s);
}

TEST(MessageTest, negativeNumbersTakeTenBytes) {
  Message message;
  message.addNumber(3, -1);
  EXPECT_EQ(message.bytes(), "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(MessageTest, fieldsAboveFifteenHaveKeysOfTwoBytes) {
  Message message;
  message.addNumber(20, 7);
  EXPECT_EQ(message.bytes(), "\xa0\x01\x07"s);
}

TEST(MessageTest, floatsAreFourBytes) {
  Message message;
  message.addFloat(2, 1.0f);
  EXPECT_EQ(message.bytes(), "\x15\x00\x00\x80\x3f"s);
}

TEST(MessageTest, textsAndMessagesHaveTheirLengthInFront) {
  Message inner, outer;
  inner.addBytes(2, "testing");
  outer.addMessage(3, inner);
  EXPECT_EQ(outer.bytes(), "\x1a\x09\x12\x07testing"s);
}

}  // namespace
}  // namespace bloomery::onnx
