// The controller put together: recovers, proves that strangers are refused, serves, stops.
#pragma once

#include <memory>
#include <string>

#include "base/types/result.h"
#include "controller/host/config_file.h"

namespace muster {

class Controller {
 public:
  // Everything up to and including the first durable record of this epoch; ports are open but not
  // served yet. kConflict: another controller holds the state directory. kCorrupt: the journal is
  // damaged (file and offset named). kUnavailable: an address cannot be bound, or the self-test of
  // the ports failed.
  static Result<std::unique_ptr<Controller>> open(HostConfig config, const std::string& release,
                                                  const std::string& program_dir);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void serve();   // Starts all threads.
  void reload();  // As on SIGHUP: the same as the admin verb, by the local host.
  void stop();

 private:
  struct Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
