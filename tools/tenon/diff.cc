// tenon diff.

#include <fmt/format.h>

#include <algorithm>

#include "tools/tenon/command.h"
#include "tools/tenon/compare.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

struct DiffOptions {
  std::string got, wanted, type;
  double tolerance = 0;
};

Status Diff(Context& context, const DiffOptions& options) {
  context.stage = kBadInput;
  context.advice =
      "FILE.npy or FILE.npz, as `tenon run -o` and numpy.savez write them; --dtype names types that NumPy lacks";
  std::vector<DType> types;
  if (!options.type.empty()) {
    TENON_ASSIGN_OR_RETURN(const DType type, ParseDType(options.type));
    types.assign(4096, type);
  }
  TENON_ASSIGN_OR_RETURN(const auto got, LoadArrays(options.got, types));
  TENON_ASSIGN_OR_RETURN(const auto wanted, LoadArrays(options.wanted, types));
  context.advice.clear();
  context.stage = kFailed;
  context.output["arrays"] = json::array();
  size_t differ = 0;
  const auto tell = [&](const std::string& name, bool same, const std::string& text, json about) {
    differ += same ? 0 : 1;
    context.Say(fmt::format("{} {:<10} {}", Styled(same ? Style::kGood : Style::kBad, same ? "=" : "!"), name, text));
    about["name"] = name;
    about["same"] = same;
    context.output["arrays"].push_back(std::move(about));
  };
  const auto find = [](const auto& list, const std::string& name) {
    return std::ranges::find_if(list, [&](const auto& entry) { return entry.first == name; });
  };
  for (const auto& [name, array] : wanted) {
    const auto other = got.size() == 1 && wanted.size() == 1 ? got.begin() : find(got, name);
    if (other == got.end()) {
      tell(name, false, "is only in " + options.wanted, {});
      continue;
    }
    const Result<Difference> difference = Compare(other->second, array, options.tolerance);
    if (!difference.ok()) {
      tell(name, false, std::string(difference.status().message()), {});
    } else {
      tell(name, difference->different == 0, ToText(*difference, array.shape), ToJson(*difference));
    }
  }
  for (const auto& [name, array] : got) {
    if ((got.size() != 1 || wanted.size() != 1) && find(wanted, name) == wanted.end())
      tell(name, false, "is only in " + options.got, {});
  }
  context.output["different"] = differ;
  if (differ > 0) context.result = kFailed;
  return OkStatus();
}

}  // namespace

void AddDiff(CLI::App& app, Context& context) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "compare the arrays of two files");
  command->add_option("got", options->got, "FILE.npz or FILE.npy")->required()->type_name("FILE");
  command->add_option("wanted", options->wanted, "what it should be")->required()->type_name("FILE");
  AddToleranceOption(*command, options->tolerance);
  command->add_option("--dtype", options->type, "type of arrays that NumPy stores as raw bytes, such as bf16")
      ->type_name("TYPE");
  AddExamples(*command, {"tenon diff a.npz b.npz --tolerance 1e-5"});
  context.commands[command] = [&context, options] { return Diff(context, *options); };
}

}  // namespace tenon::cli
