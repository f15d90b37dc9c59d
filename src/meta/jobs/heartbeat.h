// What a client does at every heartbeat: renews its session and looks at the volume's setting, usage and quotas. Thread-safe.
#pragma once

#include "base/status.h"

namespace aquifer::meta {

class MetaImpl;

// Trouble with one part is logged and does not keep the others from running. Calls MetaImpl::fatal when the volume has gone, is
// another one, or is too new.
void heartbeat(MetaImpl& meta);

// The setting as it is stored now. Code::config: this client has to stop, the text says why.
Status reloadFormat(MetaImpl& meta);

}  // namespace aquifer::meta
