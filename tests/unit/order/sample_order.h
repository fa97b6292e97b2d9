// A full set of orders for tests to bend.
#pragma once

#include "base/order/order.h"
#include "base/order/signing.h"

namespace muster::testing {

inline CommonOrder sample_common() {
  CommonOrder order;
  order.key_id = 7;
  order.cluster.bytes[0] = 0xab;
  order.attempt = {JobId{17}, Element{3}, AttemptNo{2}};
  order.epoch = Epoch{5};
  order.not_before_s = 1000000;
  order.expiry_s = 1000000 + kOrderLifeSeconds;
  order.uid = Uid{1003};
  order.gid = Gid{100};
  order.groups = {100, 27, 4000};
  order.user = "kim";
  order.home = "/home/kim";
  order.shell = "/bin/bash";
  order.script_hash = content_hash("#!/bin/sh\necho hello\n");
  order.script_size = 21;
  order.environment_hash = content_hash(std::string_view("A=1\0B=2\0", 8));
  order.environment_size = 8;
  order.launch.mode = LaunchMode::kTasks;
  order.launch.argv = {"--lr", "0.1", ""};
  order.launch.script_name = "train.sh";
  order.launch.cwd = "/home/kim/run";
  order.launch.output = "out-%j-%t.txt";
  order.job_name = "tra\xc3\xafn";
  order.queue = "gpu";
  order.account = "lab";
  order.submit_host = "login1";
  order.array = {true, 10, 0, 9, 1};
  order.time_limit_s = 3600;
  order.ports = 2;
  order.members = {{"n1", 0, 4, 0}, {"n2", 4, 4, 0}, {"n3.site", 8, 1, 1}};
  return order;
}

inline NodeOrder sample_node(std::string_view common_bytes) {
  NodeOrder order;
  order.key_id = 7;
  order.attempt = {JobId{17}, Element{3}, AttemptNo{2}};
  order.common_hash = content_hash(common_bytes);
  order.node = "n2";
  order.member = 1;
  order.cpus = 8;
  order.memory_mib = 32768;
  order.devices = {{"GPU-1", 0, 0, "/dev/nvidia0"}, {"GPU-2", 1, 1, "/dev/nvidia1"}};
  order.device_filter = true;
  return order;
}

inline GoOrder sample_go() {
  GoOrder order;
  order.key_id = 7;
  order.cluster.bytes[0] = 0xab;
  order.attempt = {JobId{17}, Element{3}, AttemptNo{2}};
  order.epoch = Epoch{5};
  order.expiry_s = 1000000 + kOrderLifeSeconds;
  order.master_address = "10.0.0.1";
  order.ports = {20001, 20002};
  return order;
}

}  // namespace muster::testing
