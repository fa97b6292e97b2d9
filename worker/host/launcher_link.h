// The connection to this node's launcher: made again for ever, hello said and checked, frames in
// and out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/order/local_channel.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

class LauncherLink {
 public:
  LauncherLink(std::string path, std::string node);

  // What happened since the last call. `came` precedes the frames, `gone` follows them.
  struct News {
    bool came = false;  // Connected, and both hellos exchanged.
    bool gone = false;
    std::vector<ReceivedFrame> frames;
  };
  // Connects when it is time, reads what is there. Never blocks.
  News turn(Instant now);

  // False: not connected (any more), the frame is lost.
  bool send(std::string frame);

  bool is_up() const { return greeted_; }
  int fd() const { return channel_ ? channel_->fd() : -1; }
  bool wants_write() const { return channel_ && channel_->wants_write(); }
  Instant retry_at() const { return retry_at_; }  // Meaningful while fd() is -1.

 private:
  void connect(Instant now);
  void read(News& news, Instant now);
  Result<void> greet(const ReceivedFrame& received);
  void close(const std::string& why, Instant now);

  std::string path_;
  std::string node_;
  std::optional<LocalChannel> channel_;
  bool greeted_ = false;
  bool broken_ = false;  // A send failed: the next turn closes.
  std::string problem_;  // Of the last failure; the same one is logged once.
  Instant retry_at_;
  Duration patience_;
};

}  // namespace muster
