// What a communicator is about: which operation is under way, what for, and since when; for messages, and for whoever
// asks how a worker fares. Written by the thread that uses the communicator, read by any; allocates nothing but texts.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace bloomery::comm {

// What operations are for, in the words of messages; a literal.
struct Purpose {
  const char* what = nullptr;    // null: nobody said
  size_t number = 0, count = 0;  // which of how many, from 1; count 0: there is one
};

class Activity {
 public:
  using Clock = std::chrono::steady_clock;

  struct State {
    const char* operation = nullptr;  // null: none is under way
    Purpose purpose;
    size_t bytes = 0;
    Clock::time_point since = Clock::now();  // when it began, or the one before ended

    // "allreduce of bucket 2 of 5 (40064 bytes)"; empty when none is under way.
    std::string text() const;
  };

  State now() const;

  // One operation from its call to its end, whichever way it ends.
  class Operation {
   public:
    Operation(Activity& activity, const char* operation, size_t bytes);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    std::string text() const { return activity_.now().text(); }

   private:
    Activity& activity_;
  };

  // What the operations of a scope are for.
  class For {
   public:
    For(Activity& activity, Purpose purpose);
    For(Activity& activity, const char* what) : For(activity, Purpose{what}) {}
    ~For();
    For(const For&) = delete;
    For& operator=(const For&) = delete;

   private:
    Activity& activity_;
    Purpose before_;
  };

 private:
  mutable std::mutex mutex_;
  State state_;
};

}  // namespace bloomery::comm
