// Which column of the user's data is what: {"features": "x", "label": "y"} for a network of one input and one output,
// {"inputs": {"input": "x"}, "labels": {"output": "y"}} for any, and "weight" and "validation" for both. In place of a
// name an object may say more of a column, and a list may name several for one input: docs/columns.md.
#pragma once

#include <string>
#include <vector>

#include "base/Json.h"
#include "data/arrow/ArrowIngest.h"

namespace bloomery::train {

// Where nothing is said of columns, a network of one output learns from this one.
inline constexpr const char* kDefaultLabelColumn = "label";

// From the names of the network's inputs and outputs. Without JSON (nullptr) the columns are "features" and "label".
// Several inputs are read from columns of their own names unless told otherwise; without label columns there are no
// targets. UserError when a name or an option is unknown or missing.
data::IngestColumns readColumns(const Json* json, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs);

}  // namespace bloomery::train
