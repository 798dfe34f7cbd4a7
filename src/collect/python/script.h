// The Python side of the bootstrap, run once in a private namespace.
#pragma once

namespace tprof {
extern const char kBootstrapScript[];
}
