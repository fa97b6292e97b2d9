// The objects of a configuration as rows of settings, and changes of one of them.
#pragma once

#include "base/message/request.h"
#include "base/types/result.h"
#include "controller/core/config.h"

namespace muster {

ObjectsReply objects_of(const ClusterConfig& config);

// The configuration with one object added, changed or removed, not yet checked against the others.
// kInvalid names the key; kNotFound and kConflict the object.
Result<ClusterConfig> change_object(const ClusterConfig& now, const ObjectChangeBody& change);

// "queue set day time_max=12h", for the audit.
std::string text_of(const ObjectChangeBody& change);

}  // namespace muster
