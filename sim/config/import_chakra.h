// Chakra execution traces (.et) as a communication ledger. A trace is one rank's: a sequence of protocol-buffer
// messages, each behind its length, the first the global metadata, the others nodes (schema: MLCommons Chakra,
// et_def.proto). We read type, attributes of communication nodes and nothing else; fields we do not know are skipped,
// as the format asks.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "sim/domain/comm_ledger.h"

namespace tessella {

struct ChakraTrace {
  std::string version; // of the schema, as the file says
  std::int64_t nodes = 0;
  std::int64_t compute_nodes = 0;
  std::int64_t without_size = 0; // communication nodes that do not say their size; counted with 0 bytes
  CommLedger ledger;             // group: pg_name, comm_group or involved_dim, whichever there is
  bool operator==(const ChakraTrace&) const = default;
};

// Memory: one message (at most 64 MiB) and the ledger, whatever the size of the file. Errors: InputError with the byte
// at which the file is broken.
ChakraTrace read_chakra(const std::string& file_name, std::istream& in);

} // namespace tessella
