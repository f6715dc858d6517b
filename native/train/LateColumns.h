// Columns whose values only all rows of all workers tell: means that nulls become, vocabularies that are learnt.
// Settles them between the workers, and carries them in the weights' metadata from training to prediction.
#pragma once

#include <map>
#include <string>

#include "comm/Communicator.h"
#include "data/arrow/ArrowIngest.h"

namespace bloomery::train {

// On every worker, when all have all their rows and before the first batch is assembled. UserError on all of them when
// the rows do not settle a column.
void settleColumns(const data::IngestColumns& columns, comm::Communicator& communicator, comm::Timeout timeout);

// What was settled, by input and column; empty when there was nothing to settle.
std::string settledColumns(const data::IngestColumns& columns);

// Gives the columns what `settledColumns` told. UserError when it does not tell of a column that needs it.
void takeSettled(const std::string& settled, data::IngestColumns& columns);

}  // namespace bloomery::train
