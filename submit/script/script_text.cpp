// Parsing of job scripts.
#include "submit/script/script_text.h"

#include <algorithm>

#include "base/types/job_spec.h"
#include "base/types/text.h"

namespace muster {

namespace {

constexpr std::string_view kDirective = "#GPU";
constexpr std::string_view kBlank = " \t";
constexpr std::size_t kInterpreterBytesMax = 255;  // What the kernel reads of the first line.

std::string at_line(std::string_view name, std::size_t line) {
  return std::string(name) + ":" + std::to_string(line);
}

std::size_t line_of(std::string_view text, std::size_t at) {
  return static_cast<std::size_t>(
             std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
         1;
}

Error invalid(std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); }

Result<void> check_bytes(std::string_view name, std::string_view text) {
  if (text.empty()) return invalid(std::string(name) + ": the script is empty");
  if (text.size() > kScriptBytesMax) {
    return fail(
        ErrorCode::kLimit,
        std::string(name) + ": the script is larger than 1 MiB: keep data in files of its own");
  }
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    return invalid(at_line(name, line_of(text, at)) +
                   ": a NUL byte: this is no text file; run a program with: gpusubmit -- PROGRAM");
  }
  if (const std::size_t at = text.find("\r\n"); at != std::string_view::npos) {
    return invalid(at_line(name, line_of(text, at)) +
                   ": the line ends in CR LF (Windows): convert the file, for example with: sed -i "
                   "'s/\\r$//' " +
                   std::string(name));
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    return invalid(at_line(name, 1) +
                   ": a byte order mark stands before the first line: save the file without it");
  }
  return {};
}

// "#!/bin/bash -l". True when there is one.
Result<bool> check_interpreter(std::string_view name, std::string_view line) {
  if (!line.starts_with("#!")) return false;
  std::string_view path = line.substr(2);
  path.remove_prefix(std::min(path.find_first_not_of(kBlank), path.size()));
  if (!path.starts_with("/")) {
    return invalid(at_line(name, 1) + ": the interpreter \"" +
                   escape_for_terminal(path.substr(0, 64)) +
                   "\" is no absolute path: write #!/bin/bash, or #!/usr/bin/env NAME");
  }
  if (line.size() > kInterpreterBytesMax) {
    return invalid(at_line(name, 1) + ": the interpreter line is longer than 255 bytes");
  }
  return true;
}

bool is_directive(std::string_view line) {
  if (!line.starts_with(kDirective)) return false;
  const std::string_view after = line.substr(kDirective.size());
  return after.empty() || kBlank.find(after[0]) != std::string_view::npos;
}

// A directive gone wrong: "# GPU --nodes 2", "#gpu --nodes 2", "#GPU--nodes 2". "##GPU" is one
// switched off.
bool looks_like_directive(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  if (!line.starts_with("#")) return false;
  line.remove_prefix(1);
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  if (line.size() < 5 || (line[0] | 0x20) != 'g' || (line[1] | 0x20) != 'p' ||
      (line[2] | 0x20) != 'u')
    return false;
  line.remove_prefix(3);
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  return line.starts_with("--");
}

// Splits as a shell would, without expanding anything.
class LineWords {
 public:
  explicit LineWords(std::string_view line) : line_(line) {}

  // The error is the reason alone.
  Result<std::vector<std::string>> split() {
    for (; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (c == ' ' || c == '\t') {
        finish();
      } else if (c == '#' && !open_) {
        break;
      } else if (c == '\'' || c == '"') {
        if (!quoted(c)) return invalid(std::string("the quote ") + c + " is not closed");
      } else if (c == '\\') {
        if (++at_ == line_.size()) return invalid("a \\ stands at the end of the line");
        put(line_[at_]);
      } else {
        put(c);
      }
    }
    finish();
    return std::move(words_);
  }

 private:
  void put(char c) {
    open_ = true;
    word_.push_back(c);
  }

  void finish() {
    if (open_) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }

  bool quoted(char quote) {
    open_ = true;
    for (++at_; at_ < line_.size(); ++at_) {
      char c = line_[at_];
      if (c == quote) return true;
      if (c == '\\' && quote == '"' && at_ + 1 < line_.size() &&
          (line_[at_ + 1] == '"' || line_[at_ + 1] == '\\')) {
        c = line_[++at_];
      }
      word_.push_back(c);
    }
    return false;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  bool open_ = false;  // Inside a word, perhaps an empty quoted one.
  std::string word_;
  std::vector<std::string> words_;
};

class ScriptParser {
 public:
  ScriptParser(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  Result<ScriptText> run() {
    if (auto fine = check_bytes(name_, text_); !fine) return fine.error();
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++number_;
      if (auto taken = take_line(line); !taken) return taken.error();
    }
    return std::move(script_);
  }

 private:
  Result<void> take_line(std::string_view line) {
    if (number_ == 1) {
      auto interpreter = check_interpreter(name_, line);
      if (!interpreter) return interpreter.error();
      script_.has_interpreter = *interpreter;
    }
    if (is_directive(line) && !in_body_) return take_directive(line.substr(kDirective.size()));
    if (is_directive(line)) {
      warn("this #GPU line is ignored: it stands below the first command; move it to the top");
    } else if (!in_body_) {
      take_header_line(line);
    }
    return {};
  }

  void take_header_line(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin != std::string_view::npos && line[begin] != '#') {
      in_body_ = true;
    } else if (looks_like_directive(line)) {
      warn("this line is a comment; a directive begins with #GPU and a space at the very left");
    } else if (line.starts_with("#SBATCH") && !warned_sbatch_) {
      warned_sbatch_ = true;
      warn("#SBATCH lines are not read; write #GPU lines");
    }
  }

  Result<void> take_directive(std::string_view line) {
    const std::string origin = at_line(name_, number_);
    auto words = words_of_line(line);
    if (!words) return invalid(origin + ": " + words.error().message);
    WordRules rules;
    rules.origin = origin;
    rules.options = job_options();
    rules.operands = Operands::kNone;
    auto parsed = parse_words(*words, rules);
    if (!parsed) return parsed.error();
    for (const Given& given : parsed->options.given()) {
      if (!given.option->in_script) {
        return invalid(origin + ": --" + std::string(given.option->name) +
                       " belongs on the command line of gpusubmit, not into the script");
      }
    }
    script_.options.add(parsed->options);
    return {};
  }

  void warn(const std::string& what) {
    constexpr std::size_t kWarningsMax = 5;
    if (script_.warnings.size() < kWarningsMax)
      script_.warnings.push_back(at_line(name_, number_) + ": " + what);
  }

  std::string_view name_;
  std::string_view text_;
  std::size_t number_ = 0;
  bool in_body_ = false;
  bool warned_sbatch_ = false;
  ScriptText script_;
};

}  // namespace

Result<std::vector<std::string>> words_of_line(std::string_view line) {
  return LineWords(line).split();
}

Result<ScriptText> parse_script(std::string_view name, std::string_view text) {
  return ScriptParser(name, text).run();
}

}  // namespace muster
