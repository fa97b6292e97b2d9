// Reading what nodes, GPUs and memory are asked for.
#include "submit/script/request.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/types/hostlist.h"
#include "base/types/node_limits.h"
#include "base/types/size.h"
#include "base/types/wish.h"
#include "submit/script/script_text.h"
#include "submit/script/shape.h"
#include "submit/script/value.h"

namespace muster {

namespace {

// Values have been checked when they were read.
template <class T>
T sure(Result<T> parsed) {
  MUSTER_ASSERT(parsed.ok());
  return *std::move(parsed);
}

std::vector<std::string> distinct(std::vector<std::string> names) {
  std::set<std::string> seen;
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) { return !seen.insert(name).second; }),
              names.end());
  return names;
}

// One group of nodes, or the few that counts of features and odd tasks make of it.
class GroupReader {
 public:
  GroupReader(const Arguments& options, std::string program, LaunchMode launch)
      : options_(options), program_(std::move(program)), launch_(launch) {}

  Result<NodeRequest> run() {
    if (auto fine = take_names(); !fine) return fine.error();
    if (auto fine = take_wish(); !fine) return fine.error();
    if (auto fine = take_counts(); !fine) return fine.error();
    if (auto fine = check_gpu_options(); !fine) return fine.error();
    for (Group& group : request_.groups) {
      if (auto fine = take_memory(group); !fine) return fine.error();
      take_rest(group);
    }
    if (auto fine = split_by_counts(); !fine) return fine.error();
    return std::move(request_);
  }

 private:
  Error refuse(const std::string& why) const {
    return fail(ErrorCode::kInvalid, program_ + ": " + why);
  }
  std::string gave(std::string_view name) const {
    return "--" + std::string(name) + " " + std::string(options_.text(name));
  }
  Error contradiction(std::string_view first, std::string_view second) const {
    return refuse("contradiction: " + gave(first) + " and " + gave(second) +
                  "; leave one of them out");
  }

  std::optional<std::uint64_t> count(std::string_view name) const {
    const Given* given = options_.find(name);
    if (given == nullptr) return std::nullopt;
    return sure(parse_count(given->value, given->option->min, given->option->max));
  }

  Result<void> take_names() {
    if (options_.has("nodelist")) only_ = distinct(sure(parse_hostlist(options_.text("nodelist"))));
    if (options_.has("exclude"))
      excluded_ = distinct(sure(parse_hostlist(options_.text("exclude"))));
    const std::set<std::string> without(excluded_.begin(), excluded_.end());
    for (const std::string& name : only_) {
      if (without.count(name) != 0)
        return refuse("contradiction: " + name + " is in --nodelist and in --exclude");
    }
    if (!options_.has("nodes")) return {};
    const CountRange nodes = sure(parse_range(options_.text("nodes"), kNodesPerJobMax));
    if (!only_.empty() && nodes.min > only_.size()) {
      return refuse("contradiction: " + gave("nodes") + ", but --nodelist names " +
                    std::to_string(only_.size()));
    }
    return {};
  }

  Result<void> take_wish() {
    if (!options_.has("constraint")) return {};
    wish_ = sure(parse_wish(options_.text("constraint")));
    for (const CountedWish& part : wish_.counted) counted_ += part.nodes;
    if (counted_ == 0 || !options_.has("nodes")) return {};
    const CountRange nodes = sure(parse_range(options_.text("nodes"), kNodesPerJobMax));
    if (nodes.min != nodes.max)
      return refuse(gave("constraint") + " counts nodes: say how many in all, not " +
                    gave("nodes"));
    if (counted_ <= nodes.min) return {};
    return refuse("contradiction: " + gave("constraint") + " asks for " + std::to_string(counted_) +
                  " nodes, and " + gave("nodes"));
  }

  void take_nodes(AskedCounts& asked) const {
    if (options_.has("nodes")) {
      const CountRange range = sure(parse_range(options_.text("nodes"), kNodesPerJobMax));
      asked.nodes = range.min;
      if (range.max != range.min) asked.nodes_max = range.max;
    } else if (counted_ != 0) {
      asked.nodes = counted_;
    } else if (!only_.empty()) {
      asked.nodes = only_.size();
    }
  }

  Result<void> take_counts() {
    AskedCounts asked;
    take_nodes(asked);
    asked.tasks = count("tasks");
    asked.tasks_per_node = count("tasks-per-node");
    asked.cpus_per_task = count("cpus-per-task");
    asked.cpus_per_gpu = count("cpus-per-gpu");
    asked.gpus_per_node = count("gpus-per-node");
    asked.gpus_per_task = count("gpus-per-task");
    if (auto fine = take_sockets(asked); !fine) return fine.error();
    asked.launch = launch_;
    if (asked.cpus_per_task && asked.cpus_per_gpu)
      return contradiction("cpus-per-task", "cpus-per-gpu");
    if (auto fine = take_share(asked); !fine) return fine.error();
    const bool gpus = asked.gpus || asked.gpus_per_node || asked.gpus_per_task;
    if (asked.cpus_per_gpu && !gpus) return refuse("--cpus-per-gpu without GPUs: add --gpus N");
    auto shape = resolve_shape(asked);
    if (!shape) return refuse(shape.error().message);
    request_.nodes = shape->nodes;
    request_.cpus_per_task = shape->cpus_per_task;
    request_.groups = std::move(shape->groups);
    return {};
  }

  Result<void> take_sockets(AskedCounts& asked) {
    const auto lot = count("gpus-per-socket");
    const auto sockets = count("sockets-per-node");
    if (!lot && !sockets) return {};
    if (!sockets)
      return refuse(gave("gpus-per-socket") + ": of how many? Add --sockets-per-node N");
    if (!lot) return refuse(gave("sockets-per-node") + " without --gpus-per-socket N");
    const std::uint64_t all = *lot * *sockets;
    if (all > kGpusPerNodeMax)
      return refuse("--gpus-per-socket and --sockets-per-node come to " + std::to_string(all) +
                    " GPUs on a node; at most " + std::to_string(kGpusPerNodeMax));
    if (asked.gpus_per_node && *asked.gpus_per_node != all) {
      return refuse("contradiction: " + gave("gpus-per-socket") + " on " +
                    std::to_string(*sockets) + " sockets makes " + std::to_string(all) +
                    " GPUs on a node, not " + gave("gpus-per-node"));
    }
    if (options_.has("gpu-share") || is_share(options_.text("gpus")))
      return refuse("contradiction: " + gave("gpus-per-socket") + " and a share of a GPU");
    asked.gpus_per_node = all;
    lot_ = static_cast<std::uint32_t>(*lot);
    return {};
  }

  // "--gpus 0.5", or --gpu-share beside counts that come to one.
  Result<void> take_share(AskedCounts& asked) {
    const std::string_view gpus = options_.text("gpus");
    if (is_share(gpus)) {
      if (options_.has("gpu-share")) return contradiction("gpus", "gpu-share");
      milli_ = sure(parse_share(gpus));
      if (!asked.gpus_per_node && !asked.gpus_per_task) asked.gpus_per_node = 1;
    } else {
      asked.gpus = count("gpus");
      if (!options_.has("gpu-share")) return {};
      milli_ = sure(parse_share(options_.text("gpu-share")));
      if (!asked.gpus && !asked.gpus_per_node && !asked.gpus_per_task) asked.gpus_per_node = 1;
    }
    return {};
  }

  Result<void> check_gpu_options() const {
    const Group& group = request_.groups.front();
    for (const std::string_view name : {"gpu-type", "gpu-mem", "gpu-bind", "mem-per-gpu"}) {
      if (group.gpus_per_node == 0 && options_.has(name))
        return refuse("--" + std::string(name) + " without GPUs: add --gpus N");
    }
    if (milli_ == kMilliPerGpu) return {};
    const std::string share = is_share(options_.text("gpus")) ? gave("gpus") : gave("gpu-share");
    for (const Group& each : request_.groups) {
      if (each.gpus_per_node > 1)
        return refuse("contradiction: " + share + " is a part of one GPU, and " +
                      std::to_string(each.gpus_per_node) + " are asked for on a node");
    }
    if (options_.has("exclusive"))
      return refuse("contradiction: " + share + " shares a GPU, and --exclusive shares nothing");
    return {};
  }

  Result<void> take_memory(Group& group) const {
    std::string_view said;
    for (const std::string_view name : {"mem", "mem-per-gpu", "mem-per-cpu"}) {
      if (!options_.has(name)) continue;
      if (!said.empty()) return contradiction(said, name);
      said = name;
    }
    if (said.empty()) return {};
    const std::string_view text = options_.text(said);
    if (said == "mem" && text == "0") {
      group.memory_all = true;
      return {};
    }
    const std::uint64_t each = sure(parse_memory_mib(text));
    std::uint64_t mib = each;
    if (said == "mem-per-gpu")
      mib = std::max<std::uint64_t>(each * group.gpus_per_node * milli_ / kMilliPerGpu, 1);
    if (said == "mem-per-cpu") mib = each * group.cpus_per_node;
    if (mib > kMemoryMibMax)
      return refuse(gave(said) + " comes to more than " + memory_to_text(kMemoryMibMax) +
                    " on a node");
    group.memory_mib_per_node = mib;
    return {};
  }

  void take_rest(Group& group) const {
    group.gpus_per_socket = lot_;
    group.gpu_milli = group.gpus_per_node == 0 ? kMilliPerGpu : milli_;
    if (options_.has("gpu-type")) group.gpu_types = gpu_types();
    if (options_.has("gpu-mem")) {
      // What the job gets of it: of a share, its part.
      const std::uint64_t mib = sure(parse_memory_mib(options_.text("gpu-mem")));
      group.gpu_memory_mib_min = (mib * kMilliPerGpu + milli_ - 1) / milli_;
    }
    group.nodes_only = only_;
    group.nodes_excluded = excluded_;
    group.exclusive = options_.has("exclusive");
    set_wish(group, wish_.all);
  }

  static void set_wish(Group& group, const Wish& wish) {
    group.features = names_when_plain(wish);
    group.wish = group.features.empty() ? wish : Wish{};
  }

  // In lower case, as the nodes report them.
  std::vector<std::string> gpu_types() const {
    std::vector<std::string> types;
    for (const std::string_view word : split_text(options_.text("gpu-type"), ',')) {
      std::string type(word);
      for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }
    return types;
  }

  // A group for each count, and one for the nodes that are not counted.
  Result<void> split_by_counts() {
    if (wish_.counted.empty()) return {};
    if (request_.groups.size() != 1)
      return refuse(gave("constraint") +
                    " counts nodes, which must then have equally many processes");
    const Group alike = request_.groups.front();
    request_.groups.clear();
    for (const CountedWish& part : wish_.counted) {
      Group group = alike;
      group.nodes_min = group.nodes_max = part.nodes;
      set_wish(group, sure(both(wish_.all, part.wish)));
      request_.groups.push_back(std::move(group));
    }
    if (counted_ == alike.nodes_min) return {};
    Group rest = alike;
    rest.nodes_min = rest.nodes_max = alike.nodes_min - static_cast<std::uint32_t>(counted_);
    request_.groups.push_back(std::move(rest));
    return {};
  }

  const Arguments& options_;
  std::string program_;
  LaunchMode launch_;
  std::uint32_t milli_ = kMilliPerGpu;
  std::uint32_t lot_ = 0;      // GPUs on each socket; 0: any.
  std::uint64_t counted_ = 0;  // Nodes that --constraint counts.
  ParsedWish wish_;
  std::vector<std::string> only_;
  std::vector<std::string> excluded_;
  NodeRequest request_;
};

// The options in the value of one --group behind those that stand beside it.
Result<Arguments> options_of_group(const Arguments& options, const Given& group,
                                   const std::string& origin) {
  auto words = words_of_line(group.value);
  if (!words) return fail(ErrorCode::kInvalid, origin + ": " + words.error().message);
  WordRules rules;
  rules.origin = origin;
  rules.options = job_options();
  rules.operands = Operands::kNone;
  auto parsed = parse_words(*words, rules);
  if (!parsed) return parsed.error();
  Arguments all;
  for (const Given& given : options.given()) {
    if (given.option->in_group) all.add(given);
  }
  for (const Given& given : parsed->options.given()) {
    if (!given.option->in_group) {
      return fail(ErrorCode::kInvalid,
                  origin + ": --" + std::string(given.option->name) +
                      " is of the whole job: put it beside --group, not into it");
    }
    all.add(given);
  }
  return all;
}

}  // namespace

Result<NodeRequest> request_nodes(const Arguments& options, const std::string& program,
                                  LaunchMode launch) {
  if (!options.has("group")) return GroupReader(options, program, launch).run();
  NodeRequest all;
  all.nodes = 0;
  all.cpus_per_task = std::numeric_limits<std::uint32_t>::max();
  std::size_t number = 0;
  for (const Given& given : options.given()) {
    if (given.option->name != "group") continue;
    const std::string origin = given.origin + ": --group " + std::to_string(++number);
    const Result<Arguments> own = options_of_group(options, given, origin);
    if (!own) return own.error();
    Result<NodeRequest> one = GroupReader(*own, origin, launch).run();
    if (!one) return one.error();
    all.nodes += one->nodes;
    all.cpus_per_task = std::min(all.cpus_per_task, one->cpus_per_task);
    for (Group& group : one->groups) all.groups.push_back(std::move(group));
    if (all.groups.size() > kGroupsMax) {
      return fail(ErrorCode::kLimit,
                  program + ": more than " + std::to_string(kGroupsMax) + " groups of nodes");
    }
  }
  return all;
}

}  // namespace muster
