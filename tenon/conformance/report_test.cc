#include "tenon/conformance/report.h"

#include <gtest/gtest.h>

namespace tenon::conformance {
namespace {

Report Sample() {
  Report report{.suite = "0.1.0 1a2b3c4",
                .date = "2026-01-31",
                .plugin = "p.so",
                .profile = "p",
                .api_version = "0.117",
                .platform_name = "cpu",
                .platform_version = "v",
                .results = {}};
  report.results.push_back({"a.one", "rule one", "s", Verdict::kPass, "pass", "", "", 0.5});
  report.results.push_back(
      {"a.two", "rule <two>", "s", Verdict::kFail, "crash (SIGSEGV)", "it \"broke\" | here", "", 0});
  report.results.push_back({"b.three", "rule", "s", Verdict::kKnownDefect, "fail", "m", "known & tracked", 0});
  report.results.push_back({"b.four", "rule", "s", Verdict::kUnsupported, "unimplemented", "m", "never", 0});
  report.results.push_back({"b.five", "rule", "s", Verdict::kNoDevice, "no device", "m", "", 0});
  report.results.push_back({"b.six", "rule", "s", Verdict::kUnexpectedPass, "pass", "", "never", 0});
  return report;
}

TEST(ReportTest, Counts) {
  Report report = Sample();
  EXPECT_EQ(report.Claimed(), 4u);
  EXPECT_EQ(report.Count(Verdict::kFail), 1u);
  EXPECT_FALSE(report.ok());
  report.results.resize(1);
  EXPECT_TRUE(report.ok());
  report.results.push_back(Sample().results[5]);
  EXPECT_FALSE(report.ok());
}

TEST(ReportTest, JsonRoundTrip) {
  Result<Report> again = FromJson(ToJson(Sample()));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  ASSERT_EQ(again->results.size(), 6u);
  EXPECT_EQ(ToJson(*again), ToJson(Sample()));
  for (const char* text :
       {"", "[]", "{}", "{\"tests\": [1]}", "{\"tests\": [{\"name\": \"a\", \"verdict\": \"odd\"}]}"})
    EXPECT_FALSE(FromJson(text).ok()) << text;
}

TEST(ReportTest, Junit) {
  std::string xml = ToJunit(Sample());
  EXPECT_NE(xml.find("tests=\"6\" failures=\"2\" skipped=\"3\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("it &quot;broke&quot; | here"), std::string::npos);
  EXPECT_NE(xml.find("rule &lt;two&gt;"), std::string::npos);
}

TEST(ReportTest, TextNamesWhatDidNotPass) {
  std::string text = ToText(Sample(), /*all=*/false);
  EXPECT_EQ(text.find("a.one"), std::string::npos);
  EXPECT_NE(text.find("a.two  [crash (SIGSEGV)]"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 4 claimed pass"), std::string::npos) << text;
}

TEST(ReportTest, OnlyCommittedBuildsAreClean) {
  EXPECT_TRUE(IsClean("0.1.0 1a2b3c4"));
  EXPECT_FALSE(IsClean("0.1.0 1a2b3c4-dirty"));
  EXPECT_FALSE(IsClean("0.1.0 unknown"));
  EXPECT_FALSE(IsClean(""));
  EXPECT_TRUE(SuiteBuild().starts_with("0.")) << SuiteBuild();
}

TEST(MatrixTest, BothForms) {
  std::string md = MatrixMarkdown({Sample(), Sample()});
  EXPECT_NE(md.find("| a | 1/2 (1 crash) | 1/2 (1 crash) |"), std::string::npos) << md;
  EXPECT_NE(md.find("| b | 0/2 (1 wrong; 2 not claimed) |"), std::string::npos) << md;
  EXPECT_NE(md.find("it \"broke\" \\| here"), std::string::npos) << md;
  EXPECT_NE(md.find("| defects | 1 crash, 1 wrong |"), std::string::npos) << md;
  EXPECT_NE(md.find("| suite | 0.1.0 1a2b3c4 |"), std::string::npos) << md;
  std::string html = MatrixHtml({Sample()});
  EXPECT_NE(html.find("known &amp; tracked"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"f\""), std::string::npos);
}

}  // namespace
}  // namespace tenon::conformance
