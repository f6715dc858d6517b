#include "train/EngineInfo.h"

#include "base/Instructions.h"
#include "base/JsonValue.h"
#include "data/arrow/ArrowIngest.h"
#include "nn/dnnl/DnnlVersion.h"

namespace bloomery::train {

std::string engineInfo() {
  Json info = {{"version", BLOOMERY_VERSION},
               {"arrow", data::arrowVersion()},
               {"onednn", nn::dnnlVersion()},
               {"isa", nameOf(instructions().level())},
               {"openmp", _OPENMP}};
  return info.dump();
}

}  // namespace bloomery::train
