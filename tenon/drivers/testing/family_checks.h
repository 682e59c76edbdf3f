#pragma once

/// What tests ask of every family.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tenon/drivers/family.h"

namespace tenon::drivers::testing {

inline StridedArray Dense(DType type, Dims dims) {
  Dims strides = RowMajorStridesElems(dims);
  return {type, std::move(dims), std::move(strides)};
}

/// What became of a problem: the offer, and the operands as it wants them.
struct Accepted {
  Config config;
  std::vector<StridedArray> inputs, outputs;
  Facts facts;
  Operands operands() const { return {inputs, outputs}; }
};

/// The family takes the problem, and accepts its own config over operands in the layouts that it wants.
inline Accepted ExpectTaken(const Family& family, const Problem& problem) {
  EXPECT_TRUE(family.Takes(problem.op));
  const Result<Offer> offer = family.Match(problem);
  EXPECT_TRUE(offer.ok()) << offer.status().ToString();
  Accepted a{{}, problem.operands, problem.results, {}};
  if (!offer.ok()) return a;
  a.config = offer->config;
  EXPECT_EQ(offer->layouts.size(), a.inputs.size());
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    if (offer->layouts[i]) a.inputs[i] = WithLayout(a.inputs[i], *offer->layouts[i]);
  }
  Result<Facts> facts = family.Describe(a.config, a.operands());
  EXPECT_TRUE(facts.ok()) << facts.status().ToString();
  if (facts.ok()) a.facts = *std::move(facts);
  EXPECT_GT(target::TimeNs(*target::StandardTarget(), a.facts.work), 0);
  return a;
}

/// The family does not take the problem, for a reason that contains `why`.
inline void ExpectNotTaken(const Family& family, const Problem& problem, std::string_view why) {
  const Result<Offer> offer = family.Match(problem);
  EXPECT_FALSE(offer.ok());
  EXPECT_NE(offer.status().message().find(why), std::string_view::npos) << offer.status().ToString();
}

/// Both what plans are judged by and what runs them refuse the step.
inline void ExpectRefused(const Family& family, const Config& config, const Operands& operands, std::string_view why) {
  const Result<Facts> facts = family.Describe(config, operands);
  EXPECT_FALSE(facts.ok()) << ToString(config);
  EXPECT_NE(facts.status().message().find(why), std::string_view::npos) << facts.status().ToString();
  EXPECT_FALSE(family.Bind(config, operands, {}).ok());
}

/// The config with the field of that name set, or added.
inline Config With(Config config, std::string_view name, Numbers values) {
  for (Config::Field& f : config.fields) {
    if (f.name == name) {
      f.values = std::move(values);
      return config;
    }
  }
  config.fields.push_back({std::string(name), std::move(values)});
  return config;
}

}  // namespace tenon::drivers::testing
