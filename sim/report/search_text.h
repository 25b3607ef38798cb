// A configuration search for people and for machines: the ranked plans, ties shown as ties, and what was looked at.
#pragma once

#include <string>

#include "sim/domain/search_result.h"

namespace tessella {

std::string search_text(const SearchResult& result);

// Ends with a newline; equal results give equal bytes.
std::string search_json(const SearchResult& result);

} // namespace tessella
