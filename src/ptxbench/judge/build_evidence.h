// The toolchain's outcome in the verdict's terms.
#pragma once

#include "ptxbench/base/result.h"
#include "ptxbench/judge/evaluate.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::judge {

// Also counts instructions per family in the artifact's SASS and PTX. Counts that cannot be read (no nvdisasm) are left
// empty, and the verdict then says that they are not known.
Result<BuildEvidence> build_evidence(const toolchain::BuildOutcome& outcome, const toolchain::BuildRequest& request);

}  // namespace ptxbench::judge
