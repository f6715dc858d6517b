#include "base/Error.h"

#include <gtest/gtest.h>

#include "base/Cancellation.h"

namespace bloomery {
namespace {

TEST(Error, everyKindKnowsItself) {
  auto kindOf = [](const Error& error) { return error.kind(); };
  EXPECT_EQ(kindOf(UserError("a")), ErrorKind::kUser);
  EXPECT_EQ(kindOf(PeerLost("a")), ErrorKind::kPeerLost);
  EXPECT_EQ(kindOf(Cancelled("a")), ErrorKind::kCancelled);
  EXPECT_EQ(kindOf(ResourceError("a")), ErrorKind::kResource);
  EXPECT_EQ(kindOf(InternalError("a")), ErrorKind::kInternal);
  EXPECT_STREQ(UserError("Label is null").what(), "Label is null");
}

TEST(Error, messageJoinsWhateverCanBePrinted) {
  EXPECT_EQ(message("Label out of range: ", 12, ", classes: ", int64_t{10}, ' ', std::string("x"), 0.5),
            "Label out of range: 12, classes: 10 x0.5");
}

TEST(Error, longTextsAreCutBetweenCharacters) {
  EXPECT_EQ(UserError(std::string(kMaxErrorBytes, 'x')).what(), std::string(kMaxErrorBytes, 'x'));
  EXPECT_EQ(UserError(std::string(kMaxErrorBytes + 1, 'x')).what(), std::string(kMaxErrorBytes, 'x') + "...");
  std::string umlauts = "x";
  while (umlauts.size() < 2 * kMaxErrorBytes) umlauts += "\xc3\xa4";
  EXPECT_EQ(UserError(umlauts).what(), umlauts.substr(0, kMaxErrorBytes - 1) + "...");
}

TEST(Error, checkThrowsOnlyWhenBroken) {
  EXPECT_NO_THROW(check(true, "never"));
  try {
    check(false, "No such rank: ", 3);
    FAIL() << "nothing thrown";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "No such rank: 3");
  }
}

TEST(Cancellation, staysOnceRaised) {
  Cancellation cancellation;
  EXPECT_FALSE(cancellation.cancelled());
  EXPECT_NO_THROW(cancellation.throwIfCancelled());
  cancellation.cancel();
  cancellation.cancel();
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_THROW(cancellation.throwIfCancelled(), Cancelled);
}

}  // namespace
}  // namespace bloomery
