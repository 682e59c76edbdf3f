#include "tenon/drivers/registry.h"

#include <gtest/gtest.h>

namespace tenon::drivers {
namespace {

/// Takes Fourier transforms of one length.
class OneLength final : public Family {
 public:
  OneLength(std::string_view name, int64_t length) : name_(name), length_(length) {}
  std::string_view name() const override { return name_; }
  bool Takes(std::string_view op) const override { return op == FourierTransform::kOp; }
  Result<Offer> Match(const Problem& problem) const override {
    TENON_ASSIGN_OR_RETURN(const FourierTransform fft, FromConfig<FourierTransform>(problem.attributes));
    if (!(fft.lengths == Dims{length_})) return Unimplemented("lengths " + DimsToString(fft.lengths));
    return Offer{problem.attributes, {std::nullopt}};
  }
  Result<Facts> Describe(const Config&, const Operands& operands) const override {
    TENON_RETURN_IF_ERROR(CheckCount(operands, 1, 1));
    Facts facts;
    facts.scratch_bytes = length_;
    return facts;
  }
  Result<std::unique_ptr<const Call>> Bind(const Config&, const Operands&, std::span<const bool>) const override {
    return Unimplemented("no code");
  }

 private:
  std::string_view name_;
  int64_t length_;
};

Registry Make() {
  std::vector<std::unique_ptr<const Family>> families;
  families.push_back(std::make_unique<OneLength>("four", 4));
  families.push_back(std::make_unique<OneLength>("five", 5));
  families.push_back(std::make_unique<OneLength>("five_again", 5));
  return Registry(std::move(families));
}

StridedArray Dense(Dims dims) {
  Dims strides = RowMajorStridesElems(dims);
  return {DType::kC64, std::move(dims), std::move(strides)};
}

TEST(Registry, TheFirstThatTakesAProblemGetsIt) {
  const Registry registry = Make();
  const auto choice =
      registry.Match(ProblemOf(FourierTransform{FourierTransform::Kind::kForward, {5}}, {Dense({5})}, {Dense({5})}));
  ASSERT_TRUE(choice.ok()) << choice.status().ToString();
  EXPECT_EQ(choice->family->name(), "five");
  EXPECT_EQ(ToString(choice->offer.config), "{lengths=[5]}");
}

TEST(Registry, TheHostComesLast) {
  const auto family = [](std::string_view name, int64_t length) {
    std::vector<std::unique_ptr<const Family>> families;
    families.push_back(std::make_unique<OneLength>(name, length));
    return families;
  };
  const auto match = [](const Registry& registry) {
    return registry.Match(
        ProblemOf(FourierTransform{FourierTransform::Kind::kForward, {5}}, {Dense({5})}, {Dense({5})}));
  };
  const Registry both(family("five", 5), family("host_five", 5));
  const auto own = match(both);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->family->name(), "five");
  EXPECT_FALSE(own->on_host);
  EXPECT_FALSE(both.OnHost("five"));
  EXPECT_TRUE(both.OnHost("host_five"));
  EXPECT_FALSE(both.OnHost("six"));
  EXPECT_TRUE(both.Find("host_five").ok());
  EXPECT_EQ(both.families().size(), 2u);
  const Registry other(family("four", 4), family("host_five", 5));
  const auto host = match(other);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->family->name(), "host_five");
  EXPECT_TRUE(host->on_host);
}

TEST(Registry, SaysWhyNobodyTakesAProblem) {
  const Registry registry = Make();
  const Status none =
      registry.Match(ProblemOf(FourierTransform{FourierTransform::Kind::kForward, {6}}, {}, {})).status();
  EXPECT_EQ(none.code(), Code::kUnimplemented);
  EXPECT_NE(none.message().find("four: lengths [6]; five: lengths [6]"), std::string_view::npos) << none.ToString();
  const Status other = registry.Match(ProblemOf(Contraction{}, {}, {})).status();
  EXPECT_NE(other.message().find("no driver for this contraction: none takes any"), std::string_view::npos)
      << other.ToString();
  EXPECT_EQ(Registry().Match(ProblemOf(Contraction{}, {}, {})).status().code(), Code::kUnimplemented);
}

TEST(Registry, DescribesByName) {
  const Registry registry = Make();
  const StridedArray array = Dense({2});
  EXPECT_EQ(registry.Describe("five", {}, {{&array, 1}, {&array, 1}})->scratch_bytes, 5);
  EXPECT_EQ(registry.Describe("six", {}, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(registry.Describe("five", {}, {}).status().ToString(),
            "INVALID_ARGUMENT: five: 0 inputs and 0 outputs, wanted 1 and 1");
}

TEST(Registry, RefusesArraysThatNoFamilyCouldReckonWith) {
  const Registry registry = Make();
  const StridedArray good = Dense({2});
  constexpr int64_t kHuge = int64_t{1} << 40;
  for (const StridedArray& bad :
       {StridedArray{DType::kC64, {kHuge, kHuge}, {0, 0}}, StridedArray{DType::kC64, {0, kHuge, kHuge}, {0, 0, 0}},
        StridedArray{DType::kC64, {-1}, {1}}, StridedArray{DType::kC64, {2}, {}},
        StridedArray{DType::kC64, {2}, {INT64_MIN}}, StridedArray{DType::kC64, {1}, {INT64_MAX / 2}},
        StridedArray{DType::kC64, {3}, {INT64_MAX}}}) {
    EXPECT_EQ(registry.Describe("five", {}, {{&bad, 1}, {&good, 1}}).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(registry.Describe("five", {}, {{&good, 1}, {&bad, 1}}).status().code(), Code::kInvalidArgument);
  }
}

TEST(Layouts, RowMajorAndOthers) {
  EXPECT_TRUE(IsRowMajor({DType::kF32, {2, 3}, {3, 1}}));
  EXPECT_TRUE(IsRowMajor({DType::kF32, {1, 3}, {99, 1}}));
  EXPECT_FALSE(IsRowMajor({DType::kF32, {2, 3}, {1, 2}}));
  EXPECT_EQ(WithLayout({DType::kF32, {2, 3, 5}, {0, 0, 0}}, {1, 2, 0}).strides, (Dims{15, 1, 3}));
}

}  // namespace
}  // namespace tenon::drivers
