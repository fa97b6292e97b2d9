// The parts of gpuadmin.
#pragma once

#include <span>
#include <string>

#include "submit/cli/command.h"

namespace muster {

// words are those after the verb ("node drain"). Each returns the exit code.
using AdminVerb = int (*)(const Invocation& call, std::string_view verb,
                          std::span<const std::string> words);

int node_add(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int node_change(const Invocation& call, std::string_view verb,
                std::span<const std::string> words);  // The others.
// reservation add, set, remove.
int reservation_change(const Invocation& call, std::string_view verb,
                       std::span<const std::string> words);
int reservation_list(const Invocation& call, std::string_view verb,
                     std::span<const std::string> words);
int node_roll(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int queue_list(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int account_list(const Invocation& call, std::string_view verb, std::span<const std::string> words);
// queue, account, qos, user: add, set, remove.
int object_change(const Invocation& call, std::string_view verb,
                  std::span<const std::string> words);
// qos list, user list; limit list: the limits of all.
int object_list(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int limit_change(const Invocation& call, std::string_view verb, std::span<const std::string> words);
// What users of accounts used elsewhere, for fair share.
int usage_set(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int usage_import(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int config_export(const Invocation& call, std::string_view verb,
                  std::span<const std::string> words);
int ping(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int status(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int stats_eta(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int config_show(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int db_skip(const Invocation& call, std::string_view verb, std::span<const std::string> words);
int reload(const Invocation& call, std::string_view verb, std::span<const std::string> words);
// Exit code kExitFailed when anything was lost, repeated or billed wrongly.
int drill(const Invocation& call, std::string_view verb, std::span<const std::string> words);
// journal cat|verify, state dump, audit verify, config check, db migrate: run muster-controller,
// which has the code for them.
int run_offline(const Invocation& call, std::string_view verb, std::span<const std::string> words);

}  // namespace muster
