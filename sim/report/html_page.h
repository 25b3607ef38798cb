// The bundled page as bytes; sim/report/html/bundle.sh generates the definitions.
#pragma once

#include <string_view>

namespace tessella {

// With the mark "<!--data-->" where the results go; empty in a build without npm.
std::string_view html_page();
// Why it is empty, and what to do; empty when there is one.
std::string_view html_page_missing();

} // namespace tessella
