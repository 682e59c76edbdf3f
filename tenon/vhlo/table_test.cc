#include "tenon/vhlo/table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace tenon::vhlo {
namespace {

TEST(Table, HoldsEveryOp) {
  EXPECT_EQ(Ops().size(), 145u);
  EXPECT_EQ(FindOp("add_v1")->stablehlo, "stablehlo.add");
  EXPECT_EQ(FindOp("cross-replica-sum_v1")->stablehlo, "stablehlo.cross-replica-sum");
  EXPECT_EQ(FindOp("add_v2"), nullptr);
  EXPECT_EQ(FindOp(""), nullptr);
}

// The versions of one StableHLO op follow each other without gap or overlap, up to now.
TEST(Table, RangesOfAnOpAreContiguous) {
  std::map<std::string_view, std::map<Version, const Op*>> forms;
  for (const Op& op : Ops()) {
    EXPECT_TRUE(forms[op.stablehlo].emplace(op.since, &op).second) << op.name;
  }
  for (const auto& [name, list] : forms) {
    const Op* before = nullptr;
    for (const auto& [since, op] : list) {
      EXPECT_LE(since, op->until) << op->name;
      if (before) {
        const bool follows = before->until.major == since.major
                                 ? before->until.minor + 1 == since.minor
                                 : (before->until == Version{0, 20, 0} && since == Version{1, 0, 0});
        EXPECT_TRUE(follows) << before->name << " ends at " << before->until.ToString() << ", " << op->name
                             << " begins at " << since.ToString();
      }
      before = op;
    }
    EXPECT_GT(before->until, kCurrentVersion) << name;
  }
}

TEST(Table, FormsByVersion) {
  EXPECT_EQ(FindForm("stablehlo.gather", {1, 0, 0})->name, "gather_v1");
  EXPECT_EQ(FindForm("stablehlo.gather", {1, 1, 0})->name, "gather_v2");
  EXPECT_EQ(FindForm("stablehlo.custom_call", {1, 17, 9})->name, "custom_call_v1");  // The patch does not count.
  EXPECT_EQ(FindForm("stablehlo.custom_call", {1, 18, 0})->name, "custom_call_v2");
  EXPECT_EQ(FindForm("stablehlo.tan", {1, 3, 0}), nullptr);
  EXPECT_EQ(FindForm("stablehlo.return", {1, 0, 0})->name, "return_v1");
  EXPECT_EQ(FindForm("chlo.erf", {1, 0, 0}), nullptr);
  EXPECT_TRUE(HasForm("stablehlo.tan"));
  EXPECT_FALSE(HasForm("sdy.mesh"));
}

TEST(Table, AttributesAndTypes) {
  EXPECT_EQ(Name(AttrCode::kTensor), "tensor_v1");
  EXPECT_EQ(Name(static_cast<AttrCode>(0)), "");
  EXPECT_EQ(Name(static_cast<AttrCode>(26)), "");
  EXPECT_EQ(Name(static_cast<TypeCode>(43)), "");
  EXPECT_EQ(Since(TypeCode::kF8E3M4), (Version{1, 7, 0}));
  EXPECT_EQ(Since(AttrCode::kResultAccuracy), (Version{1, 9, 0}));
  EXPECT_GT(Since(static_cast<TypeCode>(43)), kCurrentVersion);
  EXPECT_EQ(EnumFirst(AttrCode::kRngDistribution), 1u);
  EXPECT_EQ(EnumLast(AttrCode::kInteger), std::nullopt);
}

TEST(Table, BytecodeVersions) {
  EXPECT_EQ(BytecodeVersion({0, 9, 0}), 0);
  EXPECT_EQ(BytecodeVersion({0, 10, 0}), 1);
  EXPECT_EQ(BytecodeVersion({0, 13, 0}), 3);
  EXPECT_EQ(BytecodeVersion({0, 14, 0}), 4);
  EXPECT_EQ(BytecodeVersion({0, 15, 0}), 6);
  EXPECT_EQ(BytecodeVersion({1, 20, 0}), 6);
}

TEST(Version, Text) {
  EXPECT_EQ(Version::Parse("1.16.3"), (Version{1, 16, 3}));
  for (const char* bad : {"", "1", "1.2", "1.2.", "1.2.3.4", "1.2.x", "-1.2.3", "1..2", "1.2.9999999999"}) {
    EXPECT_EQ(Version::Parse(bad), std::nullopt) << bad;
  }
  EXPECT_EQ((Version{1, 16, 3}).ToString(), "1.16.3");
}

}  // namespace
}  // namespace tenon::vhlo
