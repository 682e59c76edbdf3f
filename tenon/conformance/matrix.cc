#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "tenon/conformance/report.h"

namespace tenon::conformance {

namespace {

std::string AreaOf(const std::string& name) { return name.substr(0, name.find('.')); }
std::string Title(const Report& report) { return report.profile == "none" ? report.plugin : report.profile; }

// Names in the order of the first report that has them.
std::vector<std::string> Names(const std::vector<Report>& reports) {
  std::vector<std::string> names;
  std::map<std::string, bool> known;
  for (const Report& report : reports) {
    for (const TestResult& r : report.results) {
      if (!known[r.name]) names.push_back(r.name);
      known[r.name] = true;
    }
  }
  return names;
}

struct Tally {
  size_t pass = 0, claimed = 0, total = 0, no_device = 0;
  std::map<std::string, size_t> defects;  // What did not pass and should: "crash", "timeout", "wrong".
};

bool IsDefect(const TestResult& r) { return r.verdict == Verdict::kFail || r.verdict == Verdict::kKnownDefect; }

// Whatever signal it was.
std::string DefectKind(const std::string& observed) {
  if (observed.starts_with("crash")) return "crash";
  return observed == "fail" ? "wrong" : observed;
}

std::string DefectText(const std::map<std::string, size_t>& defects) {
  std::string text;
  for (const auto& [kind, count] : defects) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return text;
}

Tally Count(const Report& report, const std::string& area) {
  Tally tally;
  for (const TestResult& r : report.results) {
    if (!area.empty() && AreaOf(r.name) != area) continue;
    ++tally.total;
    tally.pass += r.verdict == Verdict::kPass;
    tally.no_device += r.verdict == Verdict::kNoDevice;
    if (IsDefect(r)) ++tally.defects[DefectKind(r.observed)];
    tally.claimed += r.verdict != Verdict::kUnsupported && r.verdict != Verdict::kNoDevice;
  }
  return tally;
}

std::string Cell(const Tally& tally) {
  if (tally.total == 0) return "";
  if (tally.no_device == tally.total) return "no device";
  std::string text = fmt::format("{}/{}", tally.pass, tally.claimed);
  std::string more = DefectText(tally.defects);
  if (size_t rest = tally.total - tally.claimed)
    more += fmt::format("{}{} not claimed", more.empty() ? "" : "; ", rest);
  return more.empty() ? text : fmt::format("{} ({})", text, more);
}

std::string Mark(const TestResult* r) {
  if (r == nullptr) return "";
  switch (r->verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return r->observed == "fail" ? "**fail**" : "**" + r->observed + "**";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kKnownDefect:
      return "defect" + (r->observed == "fail" ? "" : ": " + r->observed);
    case Verdict::kUnexpectedPass:
      return "**unexpected pass**";
    case Verdict::kNoDevice:
      return "no device";
  }
  return "";
}

std::string EscapeCell(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') {
      escaped += "\\|";
    } else if (c == '\n') {
      escaped += ' ';
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// What one profile entry explains, or one unexplained test.
struct Group {
  std::string reason, example;
  Verdict verdict;
  std::vector<std::string> tests;
  std::map<std::string, size_t> observed;
};

std::vector<Group> Groups(const Report& report) {
  std::vector<Group> groups;
  for (const TestResult& r : report.results) {
    if (r.verdict == Verdict::kPass || r.verdict == Verdict::kNoDevice) continue;
    std::string reason = r.reason.empty() ? r.message : r.reason;
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const Group& g) { return g.reason == reason && g.verdict == r.verdict; });
    if (same == groups.end()) {
      groups.push_back({reason, r.message, r.verdict, {}, {}});
      same = groups.end() - 1;
    }
    same->tests.push_back(r.name);
    ++same->observed[r.observed];
  }
  return groups;
}

std::string List(const std::vector<std::string>& tests) {
  std::string text;
  constexpr size_t kMost = 12;
  for (size_t i = 0; i < tests.size() && i < kMost; ++i) text += (i == 0 ? "`" : ", `") + tests[i] + "`";
  if (tests.size() > kMost) text += fmt::format(" and {} more", tests.size() - kMost);
  return text;
}

const TestResult* FindResult(const Report& report, const std::string& name) {
  auto found =
      std::find_if(report.results.begin(), report.results.end(), [&](const TestResult& r) { return r.name == name; });
  return found == report.results.end() ? nullptr : &*found;
}

std::string CssClass(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "p";
    case Verdict::kFail:
    case Verdict::kUnexpectedPass:
      return "f";
    case Verdict::kUnsupported:
      return "u";
    case Verdict::kKnownDefect:
      return "k";
    case Verdict::kNoDevice:
      return "n";
  }
  return "";
}

}  // namespace

std::string MatrixMarkdown(const std::vector<Report>& reports) {
  std::vector<std::string> names = Names(reports), areas;
  for (const std::string& name : names) {
    if (std::find(areas.begin(), areas.end(), AreaOf(name)) == areas.end()) areas.push_back(AreaOf(name));
  }
  std::string md =
      "# Compatibility matrix\n\nWritten by `tenon-conformance --matrix`. A cell is tests passed / tests claimed, and "
      "what became of the others: crashes, hangs and wrong results are defects, whether the plugin's profile knows "
      "them or not; what the plugin itself says that it lacks is not claimed.\n\n| |";
  auto row = [&](std::string_view head, const std::function<std::string(const Report&)>& cell) {
    md += fmt::format("| {} |", head);
    for (const Report& report : reports) md += " " + EscapeCell(cell(report)) + " |";
    md += "\n";
  };
  for (const Report& report : reports) md += " " + Title(report) + " |";
  md += "\n|---|";
  for (size_t i = 0; i < reports.size(); ++i) md += "---|";
  md += "\n";
  row("suite", [](const Report& r) { return r.suite; });
  row("date", [](const Report& r) { return r.date; });
  row("file", [](const Report& r) { return r.plugin; });
  row("PJRT", [](const Report& r) { return r.api_version; });
  row("platform", [](const Report& r) { return r.platform_name; });
  for (const std::string& area : areas) row(area, [&](const Report& r) { return Cell(Count(r, area)); });
  row("**all**", [](const Report& r) { return Cell(Count(r, "")); });
  row("defects", [](const Report& r) {
    const Tally tally = Count(r, "");
    return tally.defects.empty() ? "0" : DefectText(tally.defects);
  });
  for (Verdict verdict :
       {Verdict::kFail, Verdict::kUnexpectedPass, Verdict::kKnownDefect, Verdict::kUnsupported, Verdict::kNoDevice}) {
    row(VerdictName(verdict), [&](const Report& r) { return std::to_string(r.Count(verdict)); });
  }
  for (const Report& report : reports) {
    std::vector<Group> groups = Groups(report);
    if (groups.empty()) continue;
    md += fmt::format("\n## {}: what does not pass, and why\n\n| why | kind | seen | tests |\n|---|---|---|---|\n",
                      Title(report));
    for (const Group& group : groups) {
      std::string seen;
      for (const auto& [observed, count] : group.observed)
        seen += (seen.empty() ? "" : ", ") + fmt::format("{} x {}", count, observed);
      md += fmt::format("| {} | {} | {} | {} |\n", EscapeCell(group.reason), VerdictName(group.verdict), seen,
                        List(group.tests));
    }
  }
  return md;
}

std::string MatrixHtml(const std::vector<Report>& reports) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>PJRT compatibility matrix</title>\n<style>\n"
      ":root{color-scheme:light dark}body{font:14px sans-serif;margin:2em}\n"
      "div{overflow-x:auto}table{border-collapse:collapse}\n"
      "td,th{border:1px solid light-dark(#ccc,#555);padding:2px 8px;text-align:left}\n"
      "th,.u{background:light-dark(#eee,#333)}.p{background:light-dark(#dfd,#152f15)}\n"
      ".f{background:light-dark(#fbb,#611)}.k{background:light-dark(#fec,#53400f)}.n{color:#999}\n"
      "summary{font-weight:bold;cursor:pointer;margin-top:.6em}td:first-child{font-family:monospace}\n"
      "</style></head><body>\n"
      "<h1>PJRT compatibility matrix</h1>\n";
  std::string head;
  for (const Report& report : reports)
    head += fmt::format("<th title=\"{}\">{}</th>", EscapeMarkup(report.platform_version), EscapeMarkup(Title(report)));
  std::vector<std::string> names = Names(reports), areas;
  for (const std::string& name : names) {
    if (std::find(areas.begin(), areas.end(), AreaOf(name)) == areas.end()) areas.push_back(AreaOf(name));
  }
  html += "<div><table><tr><th>area</th>" + head + "</tr>\n";
  for (const std::string& area : areas) {
    html += "<tr><td>" + area + "</td>";
    for (const Report& report : reports) html += "<td>" + EscapeMarkup(Cell(Count(report, area))) + "</td>";
    html += "</tr>\n";
  }
  html += "<tr><td>all</td>";
  for (const Report& report : reports) html += "<td>" + EscapeMarkup(Cell(Count(report, ""))) + "</td>";
  html += "</tr><tr><td>suite</td>";
  for (const Report& report : reports)
    html += "<td>" + EscapeMarkup(report.suite + (report.date.empty() ? "" : ", " + report.date)) + "</td>";
  html += "</tr></table></div>\n";
  for (const std::string& area : areas) {
    html += "<details><summary>" + area + "</summary><div><table><tr><th>test</th><th>rule</th>" + head + "</tr>\n";
    for (const std::string& name : names) {
      if (AreaOf(name) != area) continue;
      std::string rule, cells;
      for (const Report& report : reports) {
        const TestResult* r = FindResult(report, name);
        if (r == nullptr) {
          cells += "<td></td>";
          continue;
        }
        if (rule.empty()) rule = r->rule;
        std::string mark = Mark(r);
        std::erase(mark, '*');
        cells += fmt::format("<td class=\"{}\" title=\"{}\">{}</td>", CssClass(r->verdict),
                             EscapeMarkup(r->reason.empty() ? r->message : r->reason + "; seen: " + r->message),
                             EscapeMarkup(mark));
      }
      html += "<tr><td>" + EscapeMarkup(name) + "</td><td>" + EscapeMarkup(rule) + "</td>" + cells + "</tr>\n";
    }
    html += "</table></div></details>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace tenon::conformance
