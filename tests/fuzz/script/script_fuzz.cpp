// Job scripts: no bytes may crash the reader of directives, and what it takes becomes a job or a
// refusal.
#include <cstdint>

#include "base/types/text.h"
#include "submit/script/array.h"
#include "submit/script/build_job.h"
#include "submit/script/script_text.h"

namespace muster {
namespace {

void read_script_text(std::string_view text) {
  const Result<ScriptText> script = parse_script("fuzz.sh", text);
  if (!script) {
    MUSTER_ASSERT(escape_for_terminal(script.error().message) == script.error().message);
    return;
  }
  JobContext context;
  context.script_name = "fuzz.sh";
  context.has_interpreter = script->has_interpreter;
  context.cwd = "/";
  static_cast<void>(build_job(script->options, context).ok());
}

void read_array(std::string_view text) {
  const Result<ArraySpec> array = parse_array(text);
  if (!array) return;
  const Result<ArraySpec> again = parse_array(to_text(*array));
  MUSTER_ASSERT(again.ok() && to_text(*again) == to_text(*array));
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read_script_text(input);
  // Most inputs are no scripts: read them as one line of options, too.
  read_script_text("#!/bin/sh\n#GPU " + std::string(input.substr(0, input.find('\n'))) + "\n");
  read_array(input.substr(0, 200));
  return 0;
}
