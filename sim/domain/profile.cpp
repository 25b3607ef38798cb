#include "sim/domain/profile.h"

#include <algorithm>

namespace tessella {

const char* name(Provenance p) {
  constexpr const char* names[] = {"measured", "published", "derived", "assumed"};
  return names[static_cast<std::size_t>(p)];
}

std::optional<double> ProfileEntry::param(const std::string& key) const {
  const auto it = std::find_if(params.begin(), params.end(), [&](const auto& p) { return p.first == key; });
  if (it == params.end()) return std::nullopt;
  return it->second;
}

const ProfileEntry* Profile::find(const std::string& op, const std::string& dtype, const std::string& tier) const {
  const ProfileEntry* any_dtype = nullptr;
  for (const ProfileEntry& e : entries) {
    if (e.op != op || e.tier != tier) continue;
    if (e.dtype == dtype) return &e;
    if (e.dtype.empty()) any_dtype = &e;
  }
  return any_dtype;
}

} // namespace tessella
