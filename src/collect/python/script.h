// The Python side of the bootstrap, which runs once in a private namespace.
#pragma once

namespace tprof {
extern const char kBootstrapScript[];
}
