#include "tenon/vhlo/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon::vhlo {
namespace {

// Encodings worked out by hand: the lowest set bit of the first byte says how many bytes follow.
TEST(Wire, KnownEncodings) {
  const auto encode = [](uint64_t v) {
    Sink sink;
    sink.VarInt(v);
    return sink.Take();
  };
  EXPECT_EQ(encode(0), std::string("\x01", 1));
  EXPECT_EQ(encode(1), "\x03");
  EXPECT_EQ(encode(127), "\xff");
  EXPECT_EQ(encode(128), std::string("\x02\x02", 2));
  EXPECT_EQ(encode(UINT64_MAX), std::string("\0\xff\xff\xff\xff\xff\xff\xff\xff", 9));
  Sink negative;
  negative.SignedVarInt(-1);
  EXPECT_EQ(negative.bytes(), "\x03");
}

TEST(Wire, EveryLengthReadsBack) {
  Sink sink;
  std::vector<uint64_t> values;
  for (int bit = 0; bit < 64; ++bit) {
    for (int64_t d : {-1, 0, 1}) values.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(d));
  }
  for (uint64_t v : values) {
    sink.VarInt(v);
    sink.SignedVarInt(static_cast<int64_t>(v));
  }
  Cursor in(sink.bytes());
  for (uint64_t v : values) {
    EXPECT_EQ(in.VarInt(), v);
    EXPECT_EQ(in.SignedVarInt(), static_cast<int64_t>(v));
  }
  EXPECT_TRUE(in.Finished());
}

TEST(Wire, FailureSticks) {
  Cursor in(std::string_view("\x02", 1));  // Says that one byte follows.
  EXPECT_EQ(in.VarInt(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.Byte(), 0u);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_FALSE(in.Finished());
}

TEST(Wire, CountsAreBoundedByWhatFollows) {
  Sink sink;
  sink.VarInt(uint64_t{1} << 60);
  Cursor in(sink.bytes());
  EXPECT_EQ(in.Count(), 0u);
  EXPECT_FALSE(in.ok());
  Cursor blob(sink.bytes());
  EXPECT_EQ(blob.Blob(), "");
  EXPECT_FALSE(blob.ok());
}

}  // namespace
}  // namespace tenon::vhlo
