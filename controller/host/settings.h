// The configuration in force. Replaced whole by a reload; readers keep the one they took.
#pragma once

#include <memory>
#include <mutex>

#include "controller/host/config_file.h"

namespace muster {

class Settings {
 public:
  explicit Settings(HostConfig config)
      : config_(std::make_shared<const HostConfig>(std::move(config))) {}
  std::shared_ptr<const HostConfig> now() const {
    const std::lock_guard lock(mutex_);
    return config_;
  }
  void replace(HostConfig config) {
    auto next = std::make_shared<const HostConfig>(std::move(config));
    const std::lock_guard lock(mutex_);
    config_ = std::move(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const HostConfig> config_;
};

}  // namespace muster
