#include "comm/Activity.h"

#include <utility>

#include "base/Error.h"

namespace bloomery::comm {

std::string Activity::State::text() const {
  if (operation == nullptr) return {};
  if (purpose.what == nullptr) return message(operation, " of ", bytes, " bytes");
  std::string which = purpose.count == 0 ? "" : message(" ", purpose.number, " of ", purpose.count);
  return message(operation, " of ", purpose.what, which, " (", bytes, " bytes)");
}

Activity::State Activity::now() const {
  std::lock_guard lock(mutex_);
  return state_;
}

Activity::Operation::Operation(Activity& activity, const char* operation, size_t bytes) : activity_(activity) {
  std::lock_guard lock(activity_.mutex_);
  activity_.state_ = {operation, activity_.state_.purpose, bytes};
}

Activity::Operation::~Operation() {
  std::lock_guard lock(activity_.mutex_);
  activity_.state_ = {nullptr, activity_.state_.purpose};
}

Activity::For::For(Activity& activity, Purpose purpose) : activity_(activity) {
  std::lock_guard lock(activity_.mutex_);
  before_ = std::exchange(activity_.state_.purpose, purpose);
}

Activity::For::~For() {
  std::lock_guard lock(activity_.mutex_);
  activity_.state_.purpose = before_;
}

}  // namespace bloomery::comm
