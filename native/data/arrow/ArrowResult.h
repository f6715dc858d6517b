// What Arrow's results and the structs of its C interface hold, or an error of ours. Internal to this folder.
#pragma once

#include <arrow/api.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>

#include <memory>
#include <new>
#include <utility>

#include "base/Error.h"

namespace bloomery::data {

template <typename T>
T valueOf(arrow::Result<T> result, const char* what) {
  if (result.status().IsOutOfMemory()) throw std::bad_alloc();
  if (!result.ok()) throw InternalError(message(what, ": ", result.status().ToString()));
  return std::move(result).ValueUnsafe();
}

// Takes over the C ArrowSchema at this address.
inline std::shared_ptr<arrow::Schema> importSchema(void* address) {
  return valueOf(arrow::ImportSchema(static_cast<ArrowSchema*>(address)), "Arrow schema cannot be imported");
}

// Takes over the C ArrowArray at this address.
inline std::shared_ptr<arrow::RecordBatch> importBatch(void* address, const std::shared_ptr<arrow::Schema>& schema) {
  return valueOf(arrow::ImportRecordBatch(static_cast<ArrowArray*>(address), schema), "Arrow batch cannot be imported");
}

// Gives it to whoever imports it from there.
inline void exportBatch(const arrow::RecordBatch& batch, ArrowArray& to) {
  arrow::Status status = arrow::ExportRecordBatch(batch, &to);
  check(status.ok(), "Arrow batch cannot be exported: ", status.message());
}

}  // namespace bloomery::data
