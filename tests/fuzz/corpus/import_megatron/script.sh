# a recipe
TP=${TP:-2} NNODES=4
ARGS=( --num-layers 8 --hidden-size 256 --num-attention-heads "4" --vocab-size 100 )
torchrun ${ARGS[@]} --tensor-model-parallel-size=$TP --num-experts 8 --moe-layer-freq ([0]*2+[1]*6) \
  --micro-batch-size 1 --global-batch-size 64 --seq-length 128 --recompute-granularity selective --lr 1 && echo
