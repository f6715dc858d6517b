// The learning rate of each step: a pure function of the step's number (from 0, over all epochs) and the steps of an
// epoch. Only reduce_on_plateau remembers something; it is told each epoch's losses, which are the same on all workers,
// so that the rates are, too. Belongs to the Updater.
#pragma once

#include <cstdint>
#include <optional>

#include "optim/ScheduleSpec.h"

namespace bloomery::optim {

struct EpochLosses {
  double training = 0;
  std::optional<double> validation;
};

// Whether epochEnded needs a validation loss.
bool watchesValidation(const ScheduleSpec& spec);
// Whether `at` needs to know the steps of an epoch.
bool countsEpochs(const ScheduleSpec& spec);

class Schedule {
 public:
  explicit Schedule(ScheduleSpec spec);

  double at(int64_t step, int64_t stepsPerEpoch) const;
  void epochEnded(const EpochLosses& losses);

  Json state() const;  // what `epochEnded` changes
  void restore(const Json& state);

 private:
  struct Plateau {
    double learningRate = 0;
    std::optional<double> best;
    int64_t wait = 0;      // epochs without a better loss
    int64_t cooldown = 0;  // epochs till those are counted again
  };

  ScheduleSpec spec_;
  Plateau plateau_;
};

}  // namespace bloomery::optim
