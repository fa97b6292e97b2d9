// A job script: its interpreter and its #GPU lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "submit/script/arguments.h"

namespace muster {

struct ScriptText {
  Arguments options;                  // In the order of the lines; origins are "name:line".
  bool has_interpreter = false;       // The first line begins with #!.
  std::vector<std::string> warnings;  // "name:line: …".
};

// Reads the lines at the top that are empty or comments; `#GPU` at the beginning of one makes it a
// directive:
//   #GPU --nodes 2 --gpus-per-node 4 --time 2h    # several options, 'quotes', \ and comments as in
//   a shell
// What looks like a directive below the first command is ignored with a warning. name is for
// messages. kInvalid or kLimit, in one line: empty, over kScriptBytesMax, NUL bytes, lines that end
// in CR LF, a byte order mark, an interpreter without an absolute path, unfinished quotes, and
// whatever parse_words() refuses.
Result<ScriptText> parse_script(std::string_view name, std::string_view text);

// Words as a shell would split them, without expanding anything; a # at the beginning of one ends
// the line. The error is the reason alone.
Result<std::vector<std::string>> words_of_line(std::string_view line);

}  // namespace muster
