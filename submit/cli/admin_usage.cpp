// gpuadmin usage set, import: what was used elsewhere counts in fair share from now on.
#include <algorithm>
#include <array>
#include <fstream>

#include "base/message/json.h"
#include "base/message/share_request.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "base/types/usage_limits.h"
#include "submit/cli/admin.h"
#include "submit/cli/caller.h"
#include "submit/cli/terminal.h"
#include "submit/cli/user.h"
#include "submit/script/value.h"

namespace muster {

namespace {

constexpr std::size_t kLineBytesMax = 4096;

Error at(const std::string& place, const Error& error) {
  return fail(error.code, place + error.message);
}

Result<UsageLine> line_of(const std::string& account, const std::string& user,
                          const std::string& gpu_seconds) {
  if (const auto fine = check_name(account); !fine) return fine.error();
  const std::array users{user};
  if (const auto known = users_must_exist(users); !known) return known.error();
  const auto count = parse_count(gpu_seconds, 0, kGpuSecondsSetMax);
  if (!count) return fail(ErrorCode::kInvalid, "GPU-seconds: " + count.error().message);
  return UsageLine{account, user, *count};
}

int send(const Invocation& call, const UsageSetBody& body) {
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(Verb::kUsageSet, body);
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  print("Set the usage of " + std::to_string(body.lines.size()) +
        (body.lines.size() == 1 ? " user" : " users of accounts") +
        "; gpuinfo --shares shows it\n");
  return kExitOk;
}

// The columns account, user and gpu_seconds by the header, in any order, among others.
class UsageFile {
 public:
  Result<UsageSetBody> read(const std::string& path) {
    std::ifstream file(path);
    if (!file) return fail(ErrorCode::kNotFound, path + ": cannot be read");
    UsageSetBody body;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const std::string place = path + ":" + std::to_string(number) + ": ";
      if (line.size() > kLineBytesMax)
        return fail(ErrorCode::kInvalid, place + "is longer than 4096 bytes");
      if (number == 1) {
        if (const auto header = take_header(line); !header) return at(place, header.error());
        continue;
      }
      if (line.empty()) continue;
      const auto taken = take(line);
      if (!taken) return at(place, taken.error());
      if (body.lines.size() == kUsageLinesMax)
        return fail(ErrorCode::kLimit, place + "more than 10000 lines; import them in parts");
      body.lines.push_back(*taken);
    }
    if (file.bad()) return fail(ErrorCode::kUnavailable, path + ": reading failed");
    if (body.lines.empty()) return fail(ErrorCode::kInvalid, path + ": has no line of usage");
    return body;
  }

 private:
  static constexpr std::array<std::string_view, 3> kColumns{"account", "user", "gpu_seconds"};

  Result<void> take_header(const std::string& line) {
    const std::vector<std::string_view> names = split_text(line, ',');
    width_ = names.size();
    for (std::size_t wanted = 0; wanted < kColumns.size(); ++wanted) {
      const auto found = std::find(names.begin(), names.end(), kColumns[wanted]);
      if (found == names.end()) {
        return fail(ErrorCode::kInvalid,
                    "the header must name account, user and gpu_seconds; it lacks " +
                        std::string(kColumns[wanted]));
      }
      places_[wanted] = static_cast<std::size_t>(found - names.begin());
    }
    return {};
  }

  Result<UsageLine> take(const std::string& line) const {
    const std::vector<std::string_view> fields = split_text(line, ',');
    if (fields.size() != width_) {
      return fail(
          ErrorCode::kInvalid,
          std::to_string(fields.size()) + " fields where the header has " + std::to_string(width_));
    }
    const auto field = [&](std::size_t column) { return std::string(fields[places_[column]]); };
    return line_of(field(0), field(1), field(2));
  }

  std::size_t width_ = 0;
  std::array<std::size_t, 3> places_{};
};

}  // namespace

int usage_set(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (words.size() != 3) {
    return fail_usage(call, std::string(verb) +
                                ": which account, whose, how many GPU-seconds? For example "
                                "gpuadmin usage set vision kim 360000");
  }
  const auto line = line_of(words[0], words[1], words[2]);
  if (!line) return fail_usage(call, std::string(verb) + ": " + line.error().message);
  return send(call, UsageSetBody{{*line}});
}

int usage_import(const Invocation& call, std::string_view verb,
                 std::span<const std::string> words) {
  if (words.size() != 1) {
    return fail_usage(
        call, std::string(verb) + ": which file? For example gpuadmin usage import usage.csv");
  }
  const auto body = UsageFile().read(words[0]);
  if (!body) return fail_command(call, body.error());
  return send(call, *body);
}

}  // namespace muster
