// The thread that waits for drivers, so that nobody else does.
#include "worker/host/gpu_watch.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "worker/host/gpu_list.h"

namespace muster {
namespace {

constexpr char kFile[] = "/gpus";

}  // namespace

GpuWatch::GpuWatch(GpuWatchOptions options, Changed changed)
    : options_(std::move(options)), changed_(std::move(changed)) {
  options_.call.stopped = &stopped_;
  if (options_.call.plugin.empty()) {
    changed_({});
    return;
  }
  good_ = seen_last();
  thread_ = std::thread([this] { run(); });
}

GpuWatch::~GpuWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GpuWatch::run() {
  std::vector<GpuFacts> told;
  bool is_first = true;
  while (!stopped_) {
    std::vector<GpuFacts> gpus = look();
    if (stopped_) return;
    if (is_first || gpus != told) {
      told = gpus;
      changed_(std::move(gpus));
    }
    is_first = false;
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::microseconds(options_.refresh.us),
                   [this] { return stopped_.load(); });
  }
}

std::vector<GpuFacts> GpuWatch::look() {
  Result<std::vector<GpuFacts>> listed = list_gpus(options_.call);
  if (listed) {
    if (!problem_.empty()) log_info("gpus: the plugin answers again");
    problem_.clear();
    if (*listed != good_) keep(*listed);
    good_ = *std::move(listed);
    return good_;
  }
  if (stopped_) return {};
  if (listed.error().message != problem_) log_error("gpus: {}", listed.error().message);
  problem_ = listed.error().message;
  std::vector<GpuFacts> gpus = good_;
  for (GpuFacts& gpu : gpus) {
    gpu.state = DeviceState::kQuarantined;
    gpu.state_reason = problem_;
  }
  return gpus;
}

std::vector<GpuFacts> GpuWatch::seen_last() const {
  std::ifstream file(options_.state_dir + kFile, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string text = bytes.str();
  if (text.empty()) return {};
  Result<GpuList> list = decode<GpuList>(text);
  return list && check_gpus(list->gpus).ok() ? std::move(list->gpus) : std::vector<GpuFacts>();
}

// Lost with the machine's power at worst; then a start with a hanging driver shows no GPUs.
void GpuWatch::keep(const std::vector<GpuFacts>& gpus) const {
  const std::string path = options_.state_dir + kFile;
  const std::string draft = path + ".tmp";
  {
    std::ofstream file(draft, std::ios::binary | std::ios::trunc);
    file << encode(GpuList{{}, gpus});
    if (!file.flush()) {
      log_warn("gpus: {} cannot be written", draft);
      return;
    }
  }
  std::error_code failed;
  std::filesystem::rename(draft, path, failed);
  if (failed) log_warn("gpus: {}: {}", path, failed.message());
}

}  // namespace muster
