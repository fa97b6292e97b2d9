// Starting shepherds: a fixed program, an empty environment, and only the descriptors it needs.
#pragma once

#include <string>
#include <vector>

#include "base/order/attempt_files.h"
#include "base/order/fd.h"
#include "base/types/result.h"
#include "worker/launcher/ports.h"

namespace muster {

// One muster-shepherd waits for our word and forks for each: starting the program anew every time
// would cost more than all else it does. It ends with us; its children do not.
class Spawner {
 public:
  explicit Spawner(std::string program) : program_(std::move(program)) {}

  // Our end of the connection to the new process. Its death closes the other end. An error names
  // the step and the errno; then nothing was started.
  // directories: the attempt's, that of scripts, that of running attempts.
  Result<Fd> spawn(const ShepherdSpec& spec, const std::vector<int>& directories,
                   const std::vector<HeldPort>& ports);

 private:
  Result<void> start_server();

  std::string program_;
  Fd server_;
};

}  // namespace muster
