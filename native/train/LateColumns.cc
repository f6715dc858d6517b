#include "train/LateColumns.h"

#include <span>
#include <vector>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "data/LateValues.h"

namespace bloomery::train {

namespace {

// Everybody's text, by rank.
std::vector<std::string> gathered(const std::string& own, comm::Communicator& communicator, comm::Timeout timeout) {
  std::vector<std::string> all;
  for (uint64_t size : communicator.allgather(own.size(), timeout)) all.emplace_back(size, '\0');
  for (int rank = 0; rank < communicator.size(); ++rank) {
    std::string& text = all[static_cast<size_t>(rank)];
    if (rank == communicator.rank()) text = own;
    if (!text.empty()) communicator.broadcast(std::as_writable_bytes(std::span(text)), rank, timeout);
  }
  return all;
}

Json settledOf(const data::InputColumn& column) {
  if (column.means != nullptr) return {{"means", column.means->means()}};
  if (column.learnt != nullptr) return {{"vocabulary", column.learnt->rule().vocabulary}};
  return nullptr;
}

}  // namespace

void settleColumns(const data::IngestColumns& columns, comm::Communicator& communicator, comm::Timeout timeout) {
  for (const data::InputColumns& input : columns.features) {
    for (const data::InputColumn& column : input.columns) {
      data::LateValues* late = column.late();
      if (late != nullptr) late->settle(gathered(late->findings(), communicator, timeout));
    }
  }
}

std::string settledColumns(const data::IngestColumns& columns) {
  if (!columns.needsAllRows()) return "";
  Json inputs = Json::array();
  for (const data::InputColumns& input : columns.features) {
    Json settled = Json::array();
    for (const data::InputColumn& column : input.columns) settled.push_back(settledOf(column));
    inputs.push_back(settled);
  }
  // A text of Spark need not be valid; one that is not finds nothing later, and breaks nothing.
  return inputs.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void takeSettled(const std::string& settled, data::IngestColumns& columns) {
  if (!columns.needsAllRows()) return;
  Json inputs = settled.empty() ? Json::array() : parseJson(settled, "columns of the weights");
  for (size_t input = 0; input < columns.features.size(); ++input) {
    std::vector<data::InputColumn>& all = columns.features[input].columns;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].late() == nullptr) continue;
      try {
        const Json& found = inputs.at(input).at(i);
        if (all[i].means != nullptr) {
          all[i].knownMeans = found.at("means").get<std::vector<double>>();
        } else {
          all[i].categories = all[i].learnt->rule();
          all[i].categories->learns = false;
          all[i].categories->vocabulary = found.at("vocabulary").get<std::vector<std::string>>();
        }
      } catch (const Json::exception&) {
        throw UserError(message("Weights do not tell what training settled for column '", all[i].name,
                                "': they come from a training with other columns"));
      }
      all[i].means = nullptr;
      all[i].learnt = nullptr;
    }
  }
}

}  // namespace bloomery::train
