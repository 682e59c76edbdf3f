#pragma once

// For tests: programs as text, results as doubles.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenon/reference/kernels.h"
#include "tenon/reference/reference.h"

namespace tenon::reference {

/// The elements of an array as doubles (complex ones as pairs).
inline std::vector<double> ToDoubles(const Value& value) {
  std::vector<double> out;
  VisitType(value.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      const auto v = Load(value.data<T>()[i]);
      if constexpr (kIsComplex<ComputeOf<T>>) {
        out.push_back(v.real());
        out.push_back(v.imag());
      } else {
        out.push_back(static_cast<double>(v));
      }
    }
    return 0;
  });
  return out;
}

inline Result<std::vector<Value>> TryRun(const std::string& text, const RunOptions& options = {},
                                         const std::vector<Value>& args = {}) {
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<Program> program, Program::Load(text));
  return program->Run(args, options);
}

/// The results of a program without arguments; fails the test when it does not run.
inline std::vector<std::vector<double>> RunAll(const std::string& text, const RunOptions& options = {}) {
  auto results = TryRun(text, options);
  EXPECT_TRUE(results.ok()) << results.status().ToString() << "\n" << text;
  std::vector<std::vector<double>> out;
  if (results.ok()) {
    for (const Value& value : *results) out.push_back(ToDoubles(value));
  }
  return out;
}

/// Result 0 of @main with this body and result type: `body` ends with the value to return, named %r.
inline std::vector<double> RunBody(const std::string& body, const std::string& type, const RunOptions& options = {}) {
  const auto results =
      RunAll("func.func @main() -> " + type + " {\n" + body + "\nreturn %r : " + type + "\n}\n", options);
  return results.empty() ? std::vector<double>{} : results[0];
}

}  // namespace tenon::reference
