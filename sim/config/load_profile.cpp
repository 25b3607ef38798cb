// calib/profiles/NAME/profile.yaml -> Profile.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/config/document.h"
#include "sim/config/file_role.h"
#include "sim/config/input_limits.h"
#include "sim/config/load.h"
#include "sim/config/quantity.h"
#include "sim/config/words.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

const FormSpec& read_form(const Node& node) {
  std::vector<std::string> names;
  for (const FormSpec& form : form_table()) names.push_back(form.name);
  return form_table()[read_word(node, "form", names)];
}

// Parameters in the order of the form, whatever the order in the file, so that equal profiles compare equal.
std::vector<std::pair<std::string, double>> read_params(const Node& node, const FormSpec& form, Problems& problems) {
  std::vector<std::pair<std::string, double>> params;
  MapReader map(node, problems, fmt::format("the params of form {}", form.name));
  for (const FormParam& p : form.params) {
    std::optional<double> value;
    const auto read = [&](const Node& n) {
      if (n.kind != NodeKind::scalar)
        throw InputError(n.where(), fmt::format("expected a value for {}, found {}", p.name, describe(n)));
      return parse_quantity(n.text, p.dimension, n.where());
    };
    if (p.required)
      map.required(p.name, value, read);
    else
      map.optional(p.name, value, read);
    if (value) params.emplace_back(p.name, *value);
  }
  map.done();
  return params;
}

Residual read_residual(const Node& node, Problems& problems) {
  Residual r;
  MapReader map(node, problems, "the residual");
  const auto share = [](const Node& n) {
    if (n.kind != NodeKind::scalar)
      throw InputError(n.where(), fmt::format("expected a number, found {}", describe(n)));
    return parse_quantity(n.text, Dimension::plain, n.where());
  };
  map.required("median", r.median, share);
  map.required("p95", r.p95, share);
  map.required("rows", r.rows, Count("rows", 0));
  map.done();
  return r;
}

ProfileEntry read_entry(const Node& node, Problems& problems) {
  ProfileEntry e;
  MapReader map(node, problems, "the entry");
  map.required("op", e.op, read_name);
  map.optional("dtype", e.dtype, read_name);
  map.optional("tier", e.tier, [](const Node& n) {
    const std::vector<std::string> tiers = {"node", "fabric"};
    return tiers[read_word(n, "tier", tiers)];
  });
  const FormSpec* form = nullptr;
  map.required("form", form, [](const Node& n) { return &read_form(n); });
  map.required("params", e.params, [&](const Node& n) {
    if (!form) return e.params; // the unknown form is error enough
    return read_params(n, *form, problems);
  });
  if (form) e.form = form->name;
  map.required("provenance", e.provenance,
               [](const Node& n) { return read_choice<Provenance>(n, "provenance", kProvenances); });
  map.required("source", e.source, read_text);
  map.optional("residual", e.residual, [&](const Node& n) { return read_residual(n, problems); });
  map.done();
  return e;
}

GpuSpec read_gpu(const Node& node, Problems& problems) {
  GpuSpec gpu;
  MapReader map(node, problems, "the gpu");
  map.required("name", gpu.name, read_name);
  map.required("sms", gpu.sms, Count("sms"));
  map.required("bf16_peak", gpu.bf16_peak, read_flop_rate);
  map.optional("fp8_peak", gpu.fp8_peak, read_flop_rate); // 0: the GPU has none
  map.required("hbm", gpu.hbm, read_bandwidth);
  map.required("memory", gpu.memory, read_bytes);
  map.required("source", gpu.source, read_text);
  map.done();
  return gpu;
}

std::string entry_name(const ProfileEntry& e) {
  std::string text = e.op;
  if (!e.dtype.empty()) text += ", dtype " + e.dtype;
  if (!e.tier.empty()) text += ", tier " + e.tier;
  return text;
}

std::vector<ProfileEntry> read_entries(const Node& node, Problems& problems) {
  std::map<std::tuple<std::string, std::string, std::string>, const Node*> seen;
  return read_list<ProfileEntry>(node, problems, [&](const Node& item) {
    ProfileEntry e = read_entry(item, problems);
    const auto [it, fresh] = seen.emplace(std::tuple(e.op, e.dtype, e.tier), &item);
    if (!fresh && !e.op.empty())
      problems.add(InputError(item.where(), fmt::format("a second entry for {}", entry_name(e)),
                              {{it->second->where(), "first given here"}}));
    return e;
  });
}

Profile read_profile(const Node& root, Problems& problems) {
  Profile p;
  MapReader map(root, problems, "the profile");
  map.required("profile", p.name, read_name);
  map.required("gpu", p.gpu, [&](const Node& n) { return read_gpu(n, problems); });
  map.required("entries", p.entries, [&](const Node& n) { return read_entries(n, problems); });
  map.done();
  return p;
}

} // namespace

Profile load_profile(const std::filesystem::path& file) {
  return load_profile_text(display_path(file), read_file(file));
}

Profile load_profile_text(const std::string& file_name, const std::string& text, Overrides overrides) {
  require_role(file_name, text, FileRole::profile);
  return read_document<Profile>(file_name, text, read_profile, "profile", overrides);
}

} // namespace tessella
