// The host benches, by op and kernel; the list of them is the table in cases.cpp. Shapes and what their dimensions
// mean:
//   gemm, gemm_dgrad, gemm_wgrad            m n k as in sim/domain/kernel_forms.h
//   grouped_gemm, _dgrad, _wgrad            experts, tokens (of all experts), skew, in, out
//   attention_fwd, attention_bwd            batch seq heads kv_heads qk_dim v_dim
//   norm_fwd, norm_bwd                      rows cols
//   activation, activation_bwd              rows cols (of the output)
//   copy: add | rope                        rows cols; rope also dim and seq
//   permute: permute | unpermute_bwd        tokens topk experts cols
//   permute: sort | unsort                  rows cols
//   unpermute: unpermute | permute_bwd      tokens topk experts cols
//   router: topk | topk_bwd                 tokens topk experts
//   embedding: lookup | scatter_add         rows cols vocab
//   cross_entropy: loss | loss_bwd          rows vocab
//   optimizer                               params
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calib/protocol/op_case.h"

namespace tessella::calib {

// Throws std::invalid_argument for an op that the host has no kernel for.
std::unique_ptr<OpCase> host_case(const OpShape& shape);

// Whether the host has a kernel for it and a core can run it in some ten milliseconds; otherwise why not.
bool host_can(const OpShape& shape, std::string& why_not);

// Every (op, kernel) there is, in the order of the table.
std::vector<std::pair<std::string, std::string>> host_ops();

// One factory per family, for the table.
std::unique_ptr<OpCase> linear_case(const OpShape& shape);
std::unique_ptr<OpCase> grouped_case(const OpShape& shape);
std::unique_ptr<OpCase> attention_case(const OpShape& shape);
std::unique_ptr<OpCase> norm_case(const OpShape& shape);
std::unique_ptr<OpCase> activation_case(const OpShape& shape);
std::unique_ptr<OpCase> copy_case(const OpShape& shape);
std::unique_ptr<OpCase> permutation_case(const OpShape& shape);
std::unique_ptr<OpCase> sort_case(const OpShape& shape);
std::unique_ptr<OpCase> router_case(const OpShape& shape);
std::unique_ptr<OpCase> embedding_case(const OpShape& shape);
std::unique_ptr<OpCase> loss_case(const OpShape& shape);
std::unique_ptr<OpCase> optimizer_case(const OpShape& shape);

} // namespace tessella::calib
