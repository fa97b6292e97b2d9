// Which jobs a command means: ids, names, users, queues, or all of one's own.
#pragma once

#include <span>
#include <string>

#include "base/message/request.h"
#include "base/types/result.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/script/option.h"

namespace muster {

// --name --user --queue --all, for the option tables of gpujob and gpucancel.
constexpr Option kSelectName{.name = "name",
                             .value = "NAME",
                             .kind = ValueKind::kJobName,
                             .help = "jobs of this name; may be repeated",
                             .example = "train",
                             .repeats = true};
constexpr Option kSelectUser{.name = "user",
                             .letter = 'u',
                             .value = "USER,…",
                             .kind = ValueKind::kNames,
                             .help = "jobs of these users (operators only, but for yourself)",
                             .example = "kim"};
constexpr Option kSelectQueue{.name = "queue",
                              .value = "QUEUE,…",
                              .kind = ValueKind::kNames,
                              .help = "jobs in these queues",
                              .example = "batch"};
constexpr Option kSelectAll{.name = "all", .letter = 'a', .help = "all jobs of yours"};

// words are the jobs given as operands. kInvalid when nothing at all was chosen.
Result<SelectBody> selection_of(const Invocation& call, std::span<const std::string> words);

// kNotFound, naming the first that no queue of the cluster is called, and the nearest that is. Ask
// it when nothing was found: the accounting of queues that were removed stays.
Result<void> queues_must_exist(Caller& caller, std::span<const std::string> names);

// Ends the command as fail_command() does; an unknown --user or --queue is named instead of "no job
// matches".
int fail_selection(const Invocation& call, Caller& caller, const SelectBody& body,
                   const Error& error);

// Prints what a changing verb answered: "Held job 17", its notes, or JSON. done is the verb's past
// tense.
void print_change(const Invocation& call, const ChangeReply& reply, std::string_view done);

}  // namespace muster
