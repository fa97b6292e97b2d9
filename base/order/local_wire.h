// Fields of a cause and of an exit record in fixed layout: on local sockets and in the files of an
// attempt.
#pragma once

#include "base/order/local_protocol.h"
#include "base/order/wire.h"
#include "base/types/cause.h"
#include "base/types/job_spec.h"

namespace muster::wire {

constexpr std::size_t kCauseTextMax = 1024;

template <class Wire>
void describe(Wire& wire, Cause& cause) {
  wire.choice(cause.kind);
  wire.number(cause.exit_status);
  wire.number(cause.signal);
  wire.text(cause.by, kCauseTextMax);
  wire.text(cause.evidence, kCauseTextMax);
  wire.text(cause.node, kNameBytesMax);
  wire.number(cause.rank);
  wire.choice(cause.retry);
}

template <class Wire>
void describe_cpus(Wire& wire, std::vector<std::uint32_t>& cpus) {
  wire.list(cpus, kCpusPerNodeMax, [&](std::uint32_t& cpu) { wire.number(cpu); });
}

template <class Wire>
void describe(Wire& wire, std::vector<RankPin>& pins) {
  wire.list(pins, kTasksPerNodeMax, [&](RankPin& pin) {
    describe_cpus(wire, pin.cpus);
    wire.text(pin.hca, kNameBytesMax);
  });
}

template <class Wire>
void describe(Wire& wire, ExitRecord& record) {
  describe(wire, record.cause);
  wire.number(record.ran.us);
  wire.number(record.cpu_us);
  wire.number(record.memory_peak_mib);
  wire.flag(record.launched);
  wire.number(record.started_wall.us);
  wire.number(record.ended_wall.us);
}

}  // namespace muster::wire
