// Asks the GPU plugin again and again on a thread of its own, and tells when something changed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/types/resources.h"
#include "worker/host/plugin_host.h"

namespace muster {

struct GpuWatchOptions {
  PluginCall call;  // An empty plugin: there are no GPUs.
  Duration refresh;
  std::string state_dir;  // Keeps what was seen last, for a start while the driver hangs.
};

class GpuWatch {
 public:
  // changed is called from the watch's thread: with the first list, and with every one that differs
  // from the one before. While the plugin fails, the GPUs seen last are told as quarantined, with
  // the reason.
  using Changed = std::function<void(std::vector<GpuFacts>)>;
  GpuWatch(GpuWatchOptions options, Changed changed);
  ~GpuWatch();  // Gives up a call in progress.
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

 private:
  void run();
  std::vector<GpuFacts> look();
  std::vector<GpuFacts> seen_last() const;
  void keep(const std::vector<GpuFacts>& gpus) const;

  GpuWatchOptions options_;
  Changed changed_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<GpuFacts> good_;  // What the plugin answered last.
  std::string problem_;
  std::thread thread_;
};

}  // namespace muster
