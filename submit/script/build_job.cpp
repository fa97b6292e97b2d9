// Options to JobSpec and LaunchSpec.
#include "submit/script/build_job.h"

#include <algorithm>

#include "base/types/size.h"
#include "base/types/text.h"
#include "base/types/time.h"
#include "submit/script/array.h"
#include "submit/script/request.h"
#include "submit/script/time_ahead.h"
#include "submit/script/value.h"

namespace muster {

namespace {

class JobBuilder {
 public:
  JobBuilder(const Arguments& options, const JobContext& context)
      : options_(options), context_(context) {}

  Result<BuiltJob> run() {
    if (auto fine = take_launch(); !fine) return fine.error();
    if (auto fine = take_spec(); !fine) return fine.error();
    if (auto fine = take_groups(); !fine) return fine.error();
    warn();
    return std::move(job_);
  }

 private:
  Error refuse(const std::string& why, ErrorCode code = ErrorCode::kInvalid) const {
    return fail(code, context_.program + ": " + why);
  }

  // Values have been checked when they were read.
  template <class T>
  static T sure(Result<T> parsed) {
    MUSTER_ASSERT(parsed.ok());
    return *std::move(parsed);
  }

  std::optional<std::uint64_t> count(std::string_view name) const {
    const Given* given = options_.find(name);
    if (given == nullptr) return std::nullopt;
    return sure(parse_count(given->value, given->option->min, given->option->max));
  }

  template <class E>
  void choose(std::string_view name, E& out) const {
    const Given* given = options_.find(name);
    if (given == nullptr) return;
    const bool known = enum_from_name(given->value, out);
    MUSTER_ASSERT(known);
  }

  Result<void> take_launch() {
    LaunchSpec& launch = job_.launch;
    choose("launch", launch.mode);
    choose("gpu-bind", launch.gpu_bind);
    choose("open-mode", launch.open_mode);
    launch.is_command = context_.is_command;
    launch.script_name = context_.script_name;
    launch.argv = context_.argv;
    launch.cwd = context_.cwd;
    if (const std::string_view dir = options_.text("chdir"); !dir.empty()) {
      launch.cwd = dir[0] == '/' ? std::string(dir) : context_.cwd + "/" + std::string(dir);
    }
    launch.output = options_.text("output");
    launch.error = options_.text("error");
    launch.make_directories = options_.has("mkdir");
    launch.umask_bits = context_.umask_bits;
    if (!context_.is_command && !context_.has_interpreter && launch.mode != LaunchMode::kTorchrun) {
      return fail(ErrorCode::kInvalid,
                  escape_for_terminal(context_.script_name) +
                      ":1: no interpreter: the first line must begin with #!, for example "
                      "#!/bin/bash");
    }
    std::size_t bytes = 0;
    for (const std::string& word : launch.argv) bytes += word.size() + 1;
    if (bytes <= kArgvBytesMax) return {};
    return refuse("the arguments have " + std::to_string(bytes) + " bytes; the limit is " +
                      std::to_string(kArgvBytesMax) + ": put them into a file",
                  ErrorCode::kLimit);
  }

  // A command of torchrun may begin with options of torchrun: then its program has the name.
  const std::string& named_after() const {
    if (!context_.is_command) return context_.script_name;
    const std::vector<std::string>& argv = context_.argv;
    if (!argv.front().starts_with("-")) return argv.front();
    const auto is_program = [](const std::string& word) { return word.ends_with(".py"); };
    const auto found = std::find_if(argv.begin(), argv.end(), is_program);
    return found == argv.end() ? argv.front() : *found;
  }

  std::string default_name() const {
    const std::string& path = named_after();
    const std::size_t slash = path.find_last_of('/');
    return path.substr(slash == std::string::npos ? 0 : slash + 1);
  }

  Result<void> take_spec() {
    JobSpec& spec = job_.spec;
    spec.name = options_.has("name") ? std::string(options_.text("name")) : default_name();
    if (auto fine = check_job_name(spec.name); !fine) {
      return refuse("the job is named after its script, and " + fine.error().message +
                    "; give it one with --name");
    }
    spec.queue = options_.text("queue");
    spec.account = options_.text("account");
    spec.qos = options_.text("qos");
    spec.nice = static_cast<std::int32_t>(count("nice").value_or(0));
    spec.reservation = options_.text("reservation");
    if (options_.has("time")) spec.time_limit = sure(parse_duration(options_.text("time")));
    if (options_.has("array")) spec.array = sure(parse_array(options_.text("array")));
    if (options_.has("topology"))
      spec.topology = sure(parse_topology(options_.text("topology"))).wish;
    if (options_.has("licences")) spec.licences = sure(parse_licences(options_.text("licences")));
    spec.hold = options_.has("hold");
    spec.requeue = !options_.has("no-requeue");
    take_gate();
    spec.ports = static_cast<std::uint32_t>(count("ports").value_or(0));
    return {};
  }

  void take_gate() {
    JobSpec& spec = job_.spec;
    if (options_.has("dependency")) {
      spec.depends = sure(parse_depends(options_.text("dependency")));
      spec.depends->kill_invalid = options_.text("kill-on-invalid-dep") == "yes";
    }
    const auto when = [&](std::string_view name, WallTime& out) {
      if (options_.has(name)) out = sure(parse_time_ahead(options_.text(name), context_.now));
    };
    when("begin", spec.begin);
    when("deadline", spec.deadline);
  }

  Result<void> take_groups() {
    auto request = request_nodes(options_, context_.program, job_.launch.mode);
    if (!request) return request.error();
    nodes_ = request->nodes;
    job_.launch.cpus_per_task = request->cpus_per_task;
    job_.spec.groups = std::move(request->groups);
    return take_clique();
  }

  // Within a node GPUs of one clique are preferred anyway.
  Result<void> take_clique() {
    if (!options_.has("topology")) return {};
    const ParsedTopology topology = sure(parse_topology(options_.text("topology")));
    if (!topology.clique || !topology.required) return {};
    for (Group& group : job_.spec.groups) group.one_clique = group.gpus_per_node != 0;
    return {};
  }

  void warn() {
    const LaunchMode mode = job_.launch.mode;
    if (mode == LaunchMode::kScript && nodes_ > 1) {
      job_.warnings.push_back(
          context_.program +
          ": warning: --launch script starts one process, on the first node; the other " +
          (nodes_ == 2 ? "node gets" : std::to_string(nodes_ - 1) + " nodes get") +
          " none: use --launch tasks or --launch torchrun, or start them from your script");
    }
    if (mode == LaunchMode::kScript && job_.launch.gpu_bind == GpuBind::kSingle) {
      job_.warnings.push_back(context_.program +
                              ": warning: --gpu-bind single has no effect with --launch script");
    }
  }

  const Arguments& options_;
  const JobContext& context_;
  std::uint64_t nodes_ = 1;
  BuiltJob job_;
};

}  // namespace

Result<BuiltJob> build_job(const Arguments& options, const JobContext& context) {
  MUSTER_ASSERT(!context.is_command || !context.argv.empty());
  return JobBuilder(options, context).run();
}

}  // namespace muster
