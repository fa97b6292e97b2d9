// A trace in a file of its own, for as long as the test runs.
#pragma once

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace muster {

class TraceText {
 public:
  explicit TraceText(const std::string& text, const std::string& name = "trace")
      : path_(testing::TempDir() + "/" + name + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_) << text;
  }
  ~TraceText() { std::remove(path_.c_str()); }
  TraceText(const TraceText&) = delete;
  TraceText& operator=(const TraceText&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr char kPhillyHeader[] = "timestamp,duration,num_gpus,gpu_time,cluster\n";
// One node of four GPUs: `wide` waits for `first`, `brief` fits in between, `long` does not.
constexpr char kFourJobs[] =
    "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2017-10-09 00:00:00,100.0,3,300.0,a\n"
    "2017-10-09 00:00:10,50.0,4,200.0,b\n"
    "2017-10-09 00:00:20,60.0,1,60.0,a\n"
    "2017-10-09 00:00:30,200.0,1,200.0,a\n";

}  // namespace muster
