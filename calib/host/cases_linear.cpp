// Dense and grouped matrix products.
#include "calib/host/cases.h"
#include "calib/host/kernels.h"
#include "calib/host/state_case.h"

namespace tessella::calib {
namespace {

constexpr double kCountedBytes = 2.0; // the simulator counts bf16 elements

// out (+)= product of a and b; which rows and columns meet depends on the pass.
struct Product {
  Tensor a;
  Tensor b;
  Tensor out;
  std::vector<std::int64_t> offsets; // grouped only
  std::size_t bytes() const { return a.bytes() + b.bytes() + out.bytes(); }
};

double dot(std::int64_t k, auto term) {
  double sum = 0.0;
  for (std::int64_t l = 0; l < k; ++l) sum += term(l);
  return sum;
}

double times(float x, float y) {
  return static_cast<double>(x) * static_cast<double>(y);
}

Work gemm_work(double m, double n, double k) {
  return {2.0 * m * n * k, kCountedBytes * (m * k + k * n + m * n), 0};
}

// Random rows for tokens, zeros in the padding.
Tensor grouped_rows(const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& offsets,
                    std::int64_t cols, std::uint64_t seed) {
  Tensor t(offsets.back(), cols);
  for (std::size_t e = 0; e < tokens.size(); ++e)
    fill_random(
        t.values().subspan(static_cast<std::size_t>(offsets[e] * cols), static_cast<std::size_t>(tokens[e] * cols)),
        seed + e);
  return t;
}

// Expert that owns a row.
std::int64_t owner(const std::vector<std::int64_t>& offsets, std::int64_t row) {
  std::int64_t e = 0;
  while (offsets[static_cast<std::size_t>(e) + 1] <= row) ++e;
  return e;
}

} // namespace

std::unique_ptr<OpCase> linear_case(const OpShape& s) {
  const std::int64_t m = s.dim("m");
  const std::int64_t n = s.dim("n");
  const std::int64_t k = s.dim("k");
  HostOp<Product> op;
  op.work = gemm_work(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k));
  if (s.op == "gemm") {
    op.make = [=](std::uint64_t seed) {
      return Product{random_tensor(m, k, seed), random_tensor(n, k, seed + 100), poisoned(m, n), {}};
    };
    op.run = [](Product& p) { linear_forward(p.a, p.b, p.out); };
    op.check = [k](Product& p) {
      return relative_error(
          p.out, [&](auto i, auto j) { return dot(k, [&](auto l) { return times(p.a.at(i, l), p.b.at(j, l)); }); });
    };
  } else if (s.op == "gemm_dgrad") {
    op.make = [=](std::uint64_t seed) {
      return Product{random_tensor(m, k, seed), random_tensor(k, n, seed + 100), poisoned(m, n), {}};
    };
    op.run = [](Product& p) { linear_dgrad(p.a, p.b, p.out); };
    op.check = [k](Product& p) {
      return relative_error(
          p.out, [&](auto i, auto j) { return dot(k, [&](auto l) { return times(p.a.at(i, l), p.b.at(l, j)); }); });
    };
  } else { // accumulates: starts from zero
    op.make = [=](std::uint64_t seed) {
      return Product{random_tensor(k, m, seed), random_tensor(k, n, seed + 100), Tensor(m, n), {}};
    };
    op.run = [](Product& p) { linear_wgrad(p.a, p.b, p.out); };
    op.check = [k](Product& p) {
      return relative_error(
          p.out, [&](auto i, auto j) { return dot(k, [&](auto l) { return times(p.a.at(l, i), p.b.at(l, j)); }); });
    };
  }
  return host_case_of(std::move(op));
}

std::unique_ptr<OpCase> grouped_case(const OpShape& s) {
  const std::int64_t in = s.dim("in");
  const std::int64_t out = s.dim("out");
  const std::int64_t experts = s.dim("experts");
  const std::vector<std::int64_t> tokens = expert_tokens(s);
  const std::vector<std::int64_t> offsets = padded_offsets(tokens);
  HostOp<Product> op;
  op.work = gemm_work(static_cast<double>(s.dim("tokens")), static_cast<double>(out), static_cast<double>(in));
  op.work.bytes += kCountedBytes * static_cast<double>((experts - 1) * in * out);
  const bool wgrad = s.op == "grouped_gemm_wgrad";
  const bool dgrad = s.op == "grouped_gemm_dgrad";
  const std::int64_t a_cols = wgrad || dgrad ? out : in;
  op.make = [=](std::uint64_t seed) {
    Product p{grouped_rows(tokens, offsets, a_cols, seed), {}, {}, offsets};
    p.b = wgrad ? grouped_rows(tokens, offsets, in, seed + 100) : random_tensor(experts * out, in, seed + 100);
    p.out = wgrad ? Tensor(experts * out, in) : poisoned(offsets.back(), dgrad ? in : out);
    return p;
  };
  if (wgrad) {
    op.run = [](Product& p) { grouped_wgrad(p.a, p.offsets, p.b, p.out); };
    op.check = [out](Product& p) {
      return relative_error(p.out, [&](auto i, auto j) {
        const auto e = static_cast<std::size_t>(i / out);
        return dot(p.offsets[e + 1] - p.offsets[e],
                   [&](auto l) { return times(p.a.at(p.offsets[e] + l, i % out), p.b.at(p.offsets[e] + l, j)); });
      });
    };
  } else if (dgrad) {
    op.run = [](Product& p) { grouped_dgrad(p.a, p.offsets, p.b, p.out); };
    op.check = [out](Product& p) {
      return relative_error(p.out, [&](auto i, auto j) {
        const std::int64_t e = owner(p.offsets, i);
        return dot(out, [&](auto l) { return times(p.a.at(i, l), p.b.at(e * out + l, j)); });
      });
    };
  } else {
    op.run = [](Product& p) { grouped_forward(p.a, p.offsets, p.b, p.out); };
    op.check = [out, in](Product& p) {
      return relative_error(p.out, [&](auto i, auto j) {
        const std::int64_t e = owner(p.offsets, i);
        return dot(in, [&](auto l) { return times(p.a.at(i, l), p.b.at(e * out + j, l)); });
      });
    };
  }
  return host_case_of(std::move(op));
}

} // namespace tessella::calib
