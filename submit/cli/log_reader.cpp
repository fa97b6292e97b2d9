// The loop of gpulogs.
#include "submit/cli/log_reader.h"

#include <unistd.h>

#include "submit/cli/job_list.h"
#include "submit/cli/terminal.h"

namespace muster {

namespace {

constexpr std::uint32_t kWaitMs = 1000;     // A server answers at the latest after this.
constexpr useconds_t kPollMicros = 500000;  // While the job has not started.
constexpr int kReopensMax = 5;              // In a row without a byte: then the error is real.

class LogReader {
 public:
  LogReader(const Invocation& call, Caller& caller, LogOpenBody place, bool follow)
      : call_(call), caller_(caller), wanted_(std::move(place)), follow_(follow) {}

  Result<void> run() {
    while (true) {
      if (auto opened = open(); !opened) return opened;
      auto read = read_to_end();
      if (!read && read.error().code == ErrorCode::kNotFound && ++reopens_ <= kReopensMax) {
        continue;  // The relay forgot the handle: a restart, or a connection made anew.
      }
      if (!read) return read;
      caller_.tell(Verb::kLogClose, LogCloseBody{open_.handle});
      if (!follow_ || wanted_.attempt != 0) return {};
      auto more = wait_for_next_attempt();
      if (!more) return more.error();
      if (!*more) return {};
    }
  }

 private:
  Result<void> open() {
    while (true) {
      wanted_.offset = offset_;
      auto opened = caller_.ask<LogOpenReply>(Verb::kLogOpen, wanted_);
      if (opened) {
        // A later attempt appends to the file of the one before when it runs on the same node.
        const bool same_attempt = opened->key == open_.key;
        const bool same_file = opened->node == open_.node && opened->path == open_.path;
        if (!same_attempt && !same_file) offset_ = 0;
        open_ = *std::move(opened);
        return {};
      }
      if (!follow_ || opened.error().code == ErrorCode::kInvalid) return opened.error();
      auto state = state_of_job();
      if (!state) return opened.error();
      if (*state == JobState::kRunning || *state == JobState::kStopping ||
          *state == JobState::kEnded) {
        if (++reopens_ > kReopensMax) return opened.error();
      } else if (!told_) {
        print_note(call_, "job " + to_text(wanted_.job) + " is " + std::string(name_of(*state)) +
                              "; waiting for it");
        told_ = true;
      }
      usleep(kPollMicros);
    }
  }

  Result<void> read_to_end() {
    while (true) {
      LogReadBody body{open_.handle, offset_, kLogReadBytesMax, follow_ ? kWaitMs : 0};
      auto reply = caller_.ask<LogReadReply>(Verb::kLogRead, body);
      if (!reply) return reply.error();
      if (!reply->data.empty()) {
        reopens_ = 0;
        print(reply->data);
        offset_ = reply->offset + reply->data.size();
      }
      if (reply->end && reply->data.empty()) return {};
      if (!follow_ && reply->data.empty()) return {};
    }
  }

  // False when the job has ended for good.
  Result<bool> wait_for_next_attempt() {
    auto reply = caller_.ask<JobReply>(Verb::kJob, JobBody{wanted_.job});
    while (true) {
      if (!reply) return reply.error();
      const JobRow& row = reply->row;
      if (row.state == JobState::kEnded) return false;
      if (row.attempt.value > open_.key.attempt.value && row.state == JobState::kRunning)
        return true;
      usleep(kPollMicros);
      reply = caller_.ask<JobReply>(Verb::kJob, JobBody{wanted_.job});
    }
  }

  Result<JobState> state_of_job() {
    auto reply = caller_.ask<JobReply>(Verb::kJob, JobBody{wanted_.job});
    if (!reply) return reply.error();
    return reply->row.state;
  }

  const Invocation& call_;
  Caller& caller_;
  LogOpenBody wanted_;
  const bool follow_;
  LogOpenReply open_;
  std::uint64_t offset_ = 0;
  int reopens_ = 0;
  bool told_ = false;
};

}  // namespace

Result<void> read_log(const Invocation& call, Caller& caller, LogOpenBody place, bool follow) {
  return LogReader(call, caller, std::move(place), follow).run();
}

}  // namespace muster
