// The ends of the model: token embedding, output head with vocabulary-parallel cross-entropy, and what a multi-token
// prediction layer adds to its block.
#pragma once

#include "sim/cost/layer_context.h"

namespace tessella {

void embedding_forward(ChainBuilder& b, const LayerContext& c);
void embedding_backward(ChainBuilder& b, const LayerContext& c);

// Final norm, logits in bf16, cross-entropy fused with its gradient.
void head_forward(ChainBuilder& b, const LayerContext& c);
void head_backward(ChainBuilder& b, const LayerContext& c);
void head_wgrad(ChainBuilder& b, const LayerContext& c);

// Embedding of the shifted tokens, two norms, eh_proj (2h to h), and a head of its own.
void mtp_forward(ChainBuilder& b, const LayerContext& c);
void mtp_backward(ChainBuilder& b, const LayerContext& c);
void mtp_wgrad(ChainBuilder& b, const LayerContext& c);

} // namespace tessella
