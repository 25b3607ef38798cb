// Layers over stages: a layout string, first/last counts, embedding and loss slots, or evenly. No layer is ever lost.
// Source: Megatron-LM transformer_block.py get_num_layers_to_build(), pipeline_parallel_layer_layout.py.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "sim/domain/legality_rules.h"

namespace tessella {
namespace {

// Decoder layers per stage, or why there is no such split.
using Split = std::variant<std::vector<std::int64_t>, Violation>;

constexpr const char* kFirst = "decoder_first_pipeline_num_layers";
constexpr const char* kLast = "decoder_last_pipeline_num_layers";

Violation violation(const std::string& key, std::string message) {
  return {"parallelism." + key, std::move(message), {}, std::nullopt};
}

std::string comma_list(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t v : values) text += fmt::format("{}{}", text.empty() ? "" : ", ", v);
  return text;
}

// The layout string of an even split, with the counts as a comment. Where embedding and loss slots divide evenly (the
// usual Megatron remedy) the outer stages are the lighter ones.
std::string even_layout(const Model& model, std::int64_t stages) {
  const std::int64_t layers = model.num_layers();
  if (stages > layers) return {};
  std::vector<std::int64_t> split = balanced_split(layers, stages);
  std::string note;
  if (stages > 2 && (layers + 2) % stages == 0) {
    std::fill(split.begin(), split.end(), (layers + 2) / stages);
    --split.front();
    --split.back();
    note = "; same as account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split";
  }
  const std::string layout = to_layout(partition_of(split, model.mtp_num_layers));
  const std::string counts =
      stages <= 16 ? fmt::format("layers per stage [{}]", comma_list(split))
                   : fmt::format("{} to {} layers per stage", *std::min_element(split.begin(), split.end()),
                                 *std::max_element(split.begin(), split.end()));
  return fmt::format("pipeline_model_parallel_layout: \"{}\" # {}{}", layout, counts, note);
}

Split chunked(const std::vector<std::int64_t>& per_rank, std::int64_t vpp) {
  std::vector<std::int64_t> stages;
  for (std::int64_t chunk = 0; chunk < vpp; ++chunk)
    for (const std::int64_t layers : per_rank) {
      if (layers % vpp != 0)
        return violation(
            "num_virtual_stages_per_pipeline_rank",
            fmt::format("a pipeline rank with {} layers cannot be cut into {} virtual stages", layers, vpp));
      stages.push_back(layers / vpp);
    }
  return stages;
}

// Counts for the first and last rank, the rest evenly over the ranks between.
Split uneven_split(std::int64_t layers, const Parallelism& p, const LayoutSpec& spec) {
  const auto first = spec.decoder_first_pipeline_num_layers;
  const auto last = spec.decoder_last_pipeline_num_layers;
  const std::string key = last ? kLast : kFirst;
  if (p.pp == 1) {
    for (const auto& [name, count] : {std::pair{kFirst, first}, std::pair{kLast, last}})
      if (count && *count != layers)
        return violation(name, fmt::format("{} {} differs from num_layers {}, but pipeline_model_parallel_size is 1",
                                           name, *count, layers));
    return chunked({layers}, p.vpp);
  }
  const std::int64_t left = p.pp - (first ? 1 : 0) - (last ? 1 : 0);
  if (first.value_or(0) > layers || last.value_or(0) > layers - first.value_or(0))
    return violation(key, fmt::format("{} {} and {} {} together exceed num_layers {}", kFirst, first.value_or(0), kLast,
                                      last.value_or(0), layers));
  const std::int64_t rest = layers - first.value_or(0) - last.value_or(0);
  if (left == 0 && rest != 0)
    return violation(key, fmt::format("{} {} and {} {} leave {} of num_layers {} without a pipeline rank", kFirst,
                                      *first, kLast, *last, rest, layers));
  if (left > 0 && rest % left != 0)
    return violation(key,
                     fmt::format("{} {} and {} {} leave {} of num_layers {} for the other {} pipeline ranks, which is "
                                 "not a multiple",
                                 kFirst, first.value_or(0), kLast, last.value_or(0), rest, layers, left));
  std::vector<std::int64_t> per_rank(static_cast<std::size_t>(p.pp), left > 0 ? rest / left : 0);
  if (first) per_rank.front() = *first;
  if (last) per_rank.back() = *last;
  return chunked(per_rank, p.vpp);
}

// Evenly; embedding and loss may count as one layer each.
Split even_split(std::int64_t layers, const Parallelism& p, const LayoutSpec& spec) {
  const std::int64_t slots =
      (spec.account_for_embedding_in_pipeline_split ? 1 : 0) + (spec.account_for_loss_in_pipeline_split ? 1 : 0);
  const std::int64_t stages = saturating_product({p.pp, p.vpp});
  const std::string grid =
      p.vpp == 1 ? fmt::format("pipeline_model_parallel_size {}", p.pp)
                 : fmt::format("{} stages (pipeline_model_parallel_size {} * num_virtual_stages_per_pipeline_rank {})",
                               stages, p.pp, p.vpp);
  const std::string total =
      slots == 0 ? fmt::format("num_layers {}", layers)
                 : fmt::format("num_layers {} + {} for embedding and loss = {}", layers, slots, layers + slots);
  if (stages > layers + slots)
    return violation("pipeline_model_parallel_size",
                     fmt::format("more stages than layers: {} stages from {}, {}", stages, grid, total));
  if ((layers + slots) % stages != 0)
    return violation("pipeline_model_parallel_size", fmt::format("{} is not a multiple of {}", total, grid));
  std::vector<std::int64_t> split(static_cast<std::size_t>(stages), (layers + slots) / stages);
  if (spec.account_for_embedding_in_pipeline_split) --split.front();
  if (spec.account_for_loss_in_pipeline_split) --split.back();
  return split;
}

// The count nearest to the given one that works; "" when none does.
std::string nearest_count(std::int64_t layers, const Parallelism& p, const LayoutSpec& spec) {
  const bool last = spec.decoder_last_pipeline_num_layers.has_value();
  const std::int64_t given = last ? *spec.decoder_last_pipeline_num_layers : *spec.decoder_first_pipeline_num_layers;
  const std::int64_t start = std::clamp<std::int64_t>(given, 1, layers);
  for (std::int64_t distance = 0; distance <= layers; ++distance)
    for (const std::int64_t count : {start - distance, start + distance}) {
      if (count < 1 || count > layers) continue;
      LayoutSpec trial = spec;
      (last ? trial.decoder_last_pipeline_num_layers : trial.decoder_first_pipeline_num_layers) = count;
      if (std::holds_alternative<std::vector<std::int64_t>>(uneven_split(layers, p, trial)))
        return fmt::format("{}: {}", last ? kLast : kFirst, count);
    }
  return {};
}

void default_partition(Judge& judge) {
  const LegalityInput& in = judge.in;
  const Parallelism& p = in.parallelism;
  const std::int64_t layers = in.model.num_layers();
  const bool uneven = in.layout.decoder_first_pipeline_num_layers || in.layout.decoder_last_pipeline_num_layers;
  const std::int64_t stages = saturating_product({p.pp, p.vpp});
  Split split = uneven && stages <= layers ? uneven_split(layers, p, in.layout) : even_split(layers, p, in.layout);
  if (const auto* counts = std::get_if<std::vector<std::int64_t>>(&split)) {
    judge.out.partition = partition_of(*counts, in.model.mtp_num_layers);
    judge.out.vpp = p.vpp;
    return;
  }
  Violation v = std::get<Violation>(split);
  if (!judge.suggest) {
    // Nobody reads it.
  } else if (stages > layers) {
    v.suggestion = nearest_plan(judge,
                                {{"num_virtual_stages_per_pipeline_rank", &Parallelism::vpp, divisors(p.vpp)},
                                 {"pipeline_model_parallel_size", &Parallelism::pp, divisors(p.world_size)}},
                                partition_rules);
  } else {
    v.suggestion = uneven ? nearest_count(layers, p, in.layout) : even_layout(in.model, stages);
  }
  judge.out.violations.push_back(std::move(v));
}

void mtp_rules(Judge& judge, const Partition& partition) {
  const std::int64_t pp = judge.in.parallelism.pp;
  const auto stages = static_cast<std::int64_t>(partition.stages.size());
  std::vector<std::int64_t> homes;
  for (std::int64_t s = 0; s < stages; ++s)
    if (partition.stages[static_cast<std::size_t>(s)].mtp_layers > 0) homes.push_back(s);
  if (homes.empty()) return;
  const std::string fix = even_layout(judge.in.model, stages);
  const char* key = "parallelism.pipeline_model_parallel_layout";
  if (homes.size() > 1)
    judge.violate(
        key,
        fmt::format("the MTP layers (m) sit in {} stages ({}), they must sit in 1", homes.size(), comma_list(homes)),
        fix);
  else if (homes[0] < stages - pp)
    judge.violate(key,
                  fmt::format("the MTP layers (m) sit in stage {}, they must sit in the last virtual stage of a rank "
                              "(stage {} or later)",
                              homes[0], stages - pp),
                  fix);
  else if (homes[0] % pp != pp - 1)
    judge.warn(
        fmt::format("standalone MTP: the MTP layers sit on pipeline rank {}, not on the last rank {}; Megatron then "
                    "exchanges shapes and synchronises the device before every pipeline transfer",
                    homes[0] % pp, pp - 1));
}

void layout_counts(Judge& judge, const Partition& partition) {
  const LegalityInput& in = judge.in;
  const std::int64_t pp = in.parallelism.pp;
  const char* key = "parallelism.pipeline_model_parallel_layout";
  const auto stages = static_cast<std::int64_t>(partition.stages.size());
  const std::string fix = even_layout(in.model, std::max(pp, stages - stages % pp));
  std::int64_t layers = 0;
  std::int64_t mtp = 0;
  for (const StageContent& s : partition.stages) {
    layers += s.num_layers;
    mtp += s.mtp_layers;
  }
  if (stages % pp != 0)
    judge.violate(key,
                  fmt::format("the layout has {} stages, not divisible by pipeline_model_parallel_size {}", stages, pp),
                  fix);
  else if (in.parallelism.vpp != 1 && in.parallelism.vpp != stages / pp)
    judge.violate(
        "parallelism.num_virtual_stages_per_pipeline_rank",
        fmt::format("num_virtual_stages_per_pipeline_rank is {}, but the layout's {} stages over {} pipeline ranks "
                    "make {}",
                    in.parallelism.vpp, stages, pp, stages / pp),
        fmt::format("num_virtual_stages_per_pipeline_rank: {}", stages / pp));
  if (layers != in.model.num_layers())
    judge.violate(
        key, fmt::format("the layout has {} decoder layers (t), num_layers is {}", layers, in.model.num_layers()), fix);
  if (mtp != in.model.mtp_num_layers)
    judge.violate(
        key, fmt::format("the layout has {} MTP layers (m), mtp_num_layers is {}", mtp, in.model.mtp_num_layers), fix);
}

void layout_partition(Judge& judge) {
  const LegalityInput& in = judge.in;
  try {
    Partition partition = parse_layout(*in.layout.layout);
    const std::size_t before = judge.out.violations.size();
    layout_counts(judge, partition);
    if (partition.stages.size() % static_cast<std::size_t>(in.parallelism.pp) == 0) mtp_rules(judge, partition);
    if (judge.out.violations.size() == before)
      judge.out.vpp = static_cast<std::int64_t>(partition.stages.size()) / in.parallelism.pp;
    judge.out.partition = std::move(partition);
  } catch (const LayoutError& error) {
    judge.violate("parallelism.pipeline_model_parallel_layout",
                  fmt::format("column {}: {}", error.column(), error.what()),
                  even_layout(in.model, saturating_product({in.parallelism.pp, in.parallelism.vpp})));
    judge.out.violations.back().column = error.column();
  }
}

// At most one way to say how the layers are spread.
bool conflicting_options(Judge& judge) {
  const LayoutSpec& spec = judge.in.layout;
  const bool counts = spec.decoder_first_pipeline_num_layers || spec.decoder_last_pipeline_num_layers;
  const bool slots = spec.account_for_embedding_in_pipeline_split || spec.account_for_loss_in_pipeline_split;
  if (static_cast<int>(spec.layout.has_value()) + static_cast<int>(counts) + static_cast<int>(slots) <= 1) return false;
  std::string given = spec.layout ? "pipeline_model_parallel_layout" : "";
  if (counts) given += fmt::format("{}decoder_first/last_pipeline_num_layers", given.empty() ? "" : ", ");
  if (slots) given += fmt::format("{}account_for_embedding/loss_in_pipeline_split", given.empty() ? "" : ", ");
  judge.violate(spec.layout ? "parallelism.pipeline_model_parallel_layout"
                            : "parallelism.decoder_first_pipeline_num_layers",
                fmt::format("these options exclude each other, keep one: {}", given));
  return true;
}

void empty_stage_warning(Judge& judge) {
  std::vector<std::int64_t> empty;
  for (std::size_t s = 0; s < judge.out.partition.stages.size(); ++s)
    if (judge.out.partition.stages[s].empty()) empty.push_back(static_cast<std::int64_t>(s));
  if (empty.empty()) return;
  judge.warn(
      fmt::format("empty stage{} {}: no layer, the activations only pass through; trainers have been reported to "
                  "deadlock on this",
                  empty.size() > 1 ? "s" : "", comma_list(empty)));
}

} // namespace

void partition_rules(Judge& judge) {
  if (conflicting_options(judge)) return;
  if (judge.in.layout.layout)
    layout_partition(judge);
  else
    default_partition(judge);
  empty_stage_warning(judge);
}

} // namespace tessella
