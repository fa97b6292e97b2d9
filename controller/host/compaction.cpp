// The compactor's parent.
#include "controller/host/compaction.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/daemon/log.h"
#include "controller/record/snapshot_store.h"

extern char** environ;

namespace muster {

Compaction::Compaction(CompactionParts parts) : parts_(std::move(parts)) {}

Compaction::~Compaction() { stop(); }

void Compaction::start() {
  thread_ = std::thread([this] { run(); });
}

void Compaction::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  const int pid = pid_;
  if (pid > 0) kill(pid, SIGTERM);
  if (thread_.joinable()) thread_.join();
}

void Compaction::wanted() {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
  }
  woken_.notify_one();
}

void Compaction::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, std::chrono::microseconds(kCompactEvery.us),
                      [&] { return stopping_ || wanted_; });
      if (stopping_) return;
      wanted_ = false;
    }
    if (compact()) remove_old_segments();
    remove_old_packs();
  }
}

bool Compaction::compact() {
  std::string program = parts_.program;
  std::string option = "--state-dir";
  std::string directory = parts_.state_dir;
  char* argv[] = {program.data(), option.data(), directory.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, program.c_str(), nullptr, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) {
    log_warn("no snapshot is made: {} cannot be started ({})", program, problem);
    return false;
  }
  pid_ = pid;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  const std::lock_guard lock(mutex_);
  if (!stopping_)
    log_error("the compactor failed (status {}); the journal grows until it succeeds", status);
  return false;
}

void Compaction::remove_old_segments() {
  const auto newest = newest_snapshot_seq(parts_.disk.snapshot_directory());
  if (!newest) return;
  const Seq keep = std::min(*newest, parts_.database_has());
  if (keep.value > 0) parts_.disk.remove_below(keep.value + 1);
}

// Scripts and environments of jobs that left memory. A pack is retired before its references are
// counted, so that none can appear in between.
void Compaction::remove_old_packs() {
  BlobStore& blobs = parts_.disk.blobs();
  std::vector<std::uint32_t> packs = blobs.packs();
  if (packs.size() < 2) return;
  packs.pop_back();  // The one being written.
  for (const std::uint32_t pack : packs) blobs.retire_pack(pack);
  const auto used = parts_.packs_in_use();
  if (!used.has_value()) return;
  for (const std::uint32_t pack : packs) {
    if (!used->contains(pack)) blobs.remove_pack(pack);
  }
}

}  // namespace muster
