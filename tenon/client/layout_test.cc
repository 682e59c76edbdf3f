#include "tenon/client/layout.h"

#include <gtest/gtest.h>

namespace tenon::client {
namespace {

TEST(Layout, TextsComeBack) {
  for (const char* text : {"{}", "{0}", "{1,0}", "{2,0,1}", "{1,0:T(8,128)}", "{1,0:T(8,128)(2,1)}"}) {
    const auto layout = TiledLayout::Parse(text);
    ASSERT_TRUE(layout.ok()) << text << ": " << layout.status().ToString();
    EXPECT_EQ(layout->ToString(), text);
  }
  EXPECT_EQ(TiledLayout::Parse("{1,0:T(8,128)E(4)S(5)}")->ToString(), "{1,0:T(8,128)}");
  EXPECT_EQ(TiledLayout::Parse("{1,0:S(5)}")->ToString(), "{1,0}");
  for (const char* text : {"", "{", "1,0", "{1,x}", "{1,0:T(8}", "{1 0}"})
    EXPECT_FALSE(TiledLayout::Parse(text).ok()) << text;
  EXPECT_EQ(TiledLayout::RowMajor(3).ToString(), "{2,1,0}");
  EXPECT_EQ(TiledLayout::ColumnMajor(3).ToString(), "{0,1,2}");
  EXPECT_EQ(TiledLayout::RowMajor(0).ToString(), "{}");
}

TEST(Layout, CFormsComeBack) {
  const Layout layouts[] = {TiledLayout{{1, 0}, {}}, TiledLayout{{1, 0}, {{8, 128}, {2}}}, StridedLayout{{-4, 0, 8}},
                            TiledLayout{}};
  for (const Layout& layout : layouts) {
    CLayout c(layout);
    EXPECT_EQ(c.get()->struct_size, size_t{PJRT_Buffer_MemoryLayout_STRUCT_SIZE});
    EXPECT_EQ(LayoutFromC(*c.get()), layout);
  }
}

}  // namespace
}  // namespace tenon::client
