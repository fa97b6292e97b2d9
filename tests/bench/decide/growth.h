// Decisions at other sizes: more shapes, wide gangs, half-full nodes, and how a pass grows.
#pragma once

#include "tests/bench/decide/site.h"

namespace muster {

// Nodes of 8 GPUs full of jobs of one GPU, then 5 % of these ended, scattered; `jobs` of `shapes`
// wait. `preempting`: one of ten that run is of a queue whose jobs those that wait may stop.
Site busy_site(std::uint32_t nodes, std::uint32_t jobs, std::uint32_t shapes,
               bool preempting = false);

// `jobs` on nodes of four types that are half full at random, every other job for two of the
// types; until all that fits is started. Milliseconds.
double place_half(std::uint32_t nodes, std::vector<NewJob> jobs, std::uint64_t seed);

// 10,000 nodes, 5 % of the GPUs free, 100,000 jobs of 20,000 shapes.
void pass_20k_shapes(int runs);

// A gang of 1,000 whole nodes, of 10,000 of which 1,200 are free: from the pass to its start.
void gang_decision_1k(int runs);

// A pass at 1,000, 3,000 and 10,000 nodes with 100,000 jobs, and at 10,000, 30,000 and 100,000
// jobs on 10,000 nodes; 500 shapes, 5 % of the GPUs free.
void growth(int runs);

}  // namespace muster
