// From a job's description to the file it wrote.
#include "submit/cli/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/types/hostlist.h"
#include "submit/cli/terminal.h"
#include "submit/script/pattern.h"

namespace muster {

namespace {

Error nowhere(const std::string& why) { return fail(ErrorCode::kNotFound, why); }

struct Writer {
  std::uint32_t node_number = 0;
  std::uint32_t rank = 0;
};

// The first rank of every node, in the order of the groups.
std::vector<std::uint32_t> first_ranks(const std::vector<Group>& groups, std::size_t nodes) {
  std::vector<std::uint32_t> ranks;
  std::uint32_t next = 0;
  for (const Group& group : groups) {
    for (std::uint32_t i = 0; i < group.nodes_max && ranks.size() < nodes; ++i) {
      ranks.push_back(next);
      next += group.tasks_per_node;
    }
  }
  ranks.push_back(next);  // Behind the last.
  return ranks;
}

Result<Writer> find_writer(const JobReply& job, const LogOpenBody& place,
                           const std::vector<std::string>& nodes) {
  const std::vector<std::uint32_t> ranks = first_ranks(job.spec.groups, nodes.size());
  Writer writer;
  if (place.rank >= 0) {
    writer.rank = static_cast<std::uint32_t>(place.rank);
    if (writer.rank >= ranks.back()) {
      return nowhere("there is no rank " + std::to_string(place.rank));
    }
    while (ranks[writer.node_number + 1] <= writer.rank) ++writer.node_number;
    return writer;
  }
  if (place.node.empty()) return writer;
  for (; writer.node_number < nodes.size(); ++writer.node_number) {
    if (nodes[writer.node_number] != place.node) continue;
    writer.rank = ranks[writer.node_number];
    return writer;
  }
  return nowhere("it did not run on " + place.node);
}

Result<void> print_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  const auto failed = [&] { return nowhere("cannot read " + path + ": " + std::strerror(errno)); };
  if (fd < 0) return failed();
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    close(fd);
    return nowhere(path + " is no regular file");
  }
  char buffer[65536];
  ssize_t got = 0;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
    print({buffer, static_cast<std::size_t>(got)});
  }
  Result<void> outcome;
  if (got < 0) outcome = failed();
  close(fd);
  return outcome;
}

}  // namespace

Result<std::string> log_file_path(const JobReply& job, const LogOpenBody& place) {
  const LaunchSpec& launch = job.launch;
  if (launch.cwd.empty()) return nowhere("it is not your job");
  if (place.errors && launch.error.empty()) {
    return nowhere("standard error goes where output goes; leave --error out");
  }
  std::string pattern = place.errors ? launch.error : launch.output;
  if (pattern.empty()) pattern = job.row.is_array ? "muster-%A_%a.out" : "muster-%j.out";
  auto nodes = parse_hostlist(job.row.node_list);
  if (!nodes) return nowhere("it never ran");
  auto writer = find_writer(job, place, *nodes);
  if (!writer) return writer.error();
  if (writer->node_number != 0 && !differs_by_node(pattern)) {
    return nowhere("without %N, %n or %t in --output only the first node writes a file");
  }
  PatternFacts facts;
  facts.job = job.row.job.value;
  facts.element = job.row.element.value;
  facts.name = job.spec.name;
  facts.user = job.row.user;
  facts.node = (*nodes)[writer->node_number];
  facts.node_number = writer->node_number;
  facts.rank = writer->rank;
  facts.attempt = place.attempt != 0 ? place.attempt : job.row.attempt.value;
  const std::string path = expand_pattern(pattern, facts);
  return path.front() == '/' ? path : launch.cwd + "/" + path;
}

Result<void> print_log_file(const Invocation& call, Caller& caller, const LogOpenBody& place,
                            const Error& why) {
  auto job = caller.ask<JobReply>(Verb::kJob, JobBody{place.job});
  if (!job || job->row.state != JobState::kEnded) return why;
  auto path = log_file_path(*job, place);
  auto printed = path ? print_file(*path) : Result<void>(path.error());
  if (!printed) {
    return fail(why.code,
                "the job has ended and its node keeps no output; " + printed.error().message);
  }
  print_note(call, "the job has ended; this was read from " + *path + " on this host");
  return {};
}

}  // namespace muster
