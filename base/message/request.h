// What clients ask a controller, and what they hear: everything in one include.
#pragma once

#include "base/message/cluster_request.h"
#include "base/message/envelope.h"
#include "base/message/estimate_request.h"
#include "base/message/job_request.h"
#include "base/message/log_request.h"
#include "base/message/object_request.h"
#include "base/message/share_request.h"
