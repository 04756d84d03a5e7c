// What an expression costs at least and at most before any value is known, from the greatest sizes that a schema allows. Follows
// cel-go's estimator and the additions of Kubernetes' libraries, so that a rule is refused here where kube-apiserver refuses it.
#pragma once

#include "core/cel/ast.h"
#include "core/cel/env.h"

namespace fleetadm::cel {

/// `root` has been checked.
CostRange estimate_cost(const Expr& root, const MaxSizes& sizes);

}  // namespace fleetadm::cel
