// Laws of the forms over random shapes and plausible parameters: more work is never faster, one parameter missing is
// always noticed, and the table of forms is the truth about what each function reads.
#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/rng.h"
#include "sim/domain/kernel_forms.h"

using namespace tessella;

namespace {

// Draws one after another; the seed is the test's.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : stream_(seed, Purpose::test) {}
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream_.word(next_++) % static_cast<std::uint64_t>(high - low + 1));
  }
  double real(double low, double high) { return low + (high - low) * stream_.uniform(next_++); }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

double plausible(Draws& d, const FormParam& p) {
  if (p.name == "sms") return static_cast<double>(d.whole(1, 200));
  if (p.name == "pick" || p.name == "pair_loss") return d.real(0.0, 0.9);
  if (p.name == "roof") return d.real(1.0, 8.0);
  if (p.name == "chunk") return 64.0;
  switch (p.dimension) {
  case Dimension::plain:
    return d.real(0.5, 100.0);
  case Dimension::seconds:
    return d.real(1e-6, 1e-4);
  case Dimension::bytes:
    return d.real(1e3, 1e8);
  case Dimension::bandwidth:
    return d.real(1e11, 5e12);
  case Dimension::flop_rate:
    return d.real(1e13, 2e15);
  }
  return 1.0;
}

ProfileEntry random_entry(Draws& d, const FormSpec& form) {
  ProfileEntry e{"op", "", "", form.name, {}, Provenance::assumed, "", {}};
  for (const FormParam& p : form.params) {
    if (p.required || d.whole(0, 1) == 1) e.params.emplace_back(p.name, plausible(d, p));
  }
  return e;
}

const FormSpec& form(const std::string& name) {
  for (const FormSpec& f : form_table()) {
    if (f.name == name) return f;
  }
  throw InternalError("no form " + name);
}

std::vector<std::int64_t> random_tokens(Draws& d) {
  std::vector<std::int64_t> t;
  for (std::int64_t i = d.whole(1, 16); i > 0; --i) t.push_back(d.whole(0, 3) == 0 ? 0 : d.whole(1, 3000));
  return t;
}

// One call of every function, with sizes that are not empty.
double call(const ProfileEntry& e) {
  const std::vector<std::int64_t> tokens = {100, 3};
  if (e.form == "gemm_tiles") return gemm_seconds(e, {100, 100, 100});
  if (e.form == "grouped_gemm_tiles")
    return grouped_gemm_seconds(e, tokens, {0, 100, 100}) + grouped_wgrad_seconds(e, tokens, {100, 100, 0});
  if (e.form == "attention_rate") return attention_seconds(e, {1, 100, 100, 4, 2, 64, 64, true, 0});
  if (e.form == "gdn_rate") return gdn_seconds(e, {1, 100, 2, 4, 64, 64});
  if (e.form == "ssd_rate") return ssd_seconds(e, {1, 100, 4, 64, 2, 64, 64});
  if (e.form == "stream") return stream_seconds(e, 1e6);
  if (e.form == "collective") return collective_seconds(e, 8, 1e6, {1e11});
  if (e.form == "constant") return constant_seconds(e);
  if (e.form == "factor") return factor_value(e);
  if (e.form == "spread") return spread_of(e).low + spread_of(e).high;
  if (e.form == "uniform_stage") return uniform_stage(e).forward;
  if (e.form == "contention") return contention_factors(e).gemm;
  FAIL("a form without a call here: " << e.form);
  return 0.0;
}

} // namespace

TEST_CASE("the form table lists exactly what a function needs") {
  Draws d(1);
  for (const FormSpec& f : form_table()) {
    const ProfileEntry full = random_entry(d, f);
    CHECK(call(full) > 0.0);
    for (const FormParam& p : f.params) {
      ProfileEntry lacking = full;
      std::erase_if(lacking.params, [&](const auto& x) { return x.first == p.name; });
      CAPTURE(f.name);
      CAPTURE(p.name);
      if (p.required) {
        CHECK_THROWS_AS(call(lacking), NotCovered);
      } else {
        CHECK(call(lacking) > 0.0);
      }
    }
  }
}

TEST_CASE("gemm is monotone in every size and in the SMs taken away") {
  Draws d(2);
  for (int i = 0; i < 2000; ++i) {
    const ProfileEntry e = random_entry(d, form("gemm_tiles"));
    const GemmShape s{d.whole(1, 5000), d.whole(1, 5000), d.whole(1, 5000)};
    const double base = gemm_seconds(e, s);
    const std::int64_t more = d.whole(1, 300);
    CHECK(gemm_seconds(e, {s.m + more, s.n, s.k}) >= base);
    CHECK(gemm_seconds(e, {s.m, s.n + more, s.k}) >= base);
    CHECK(gemm_seconds(e, {s.m, s.n, s.k + more}) >= base);
    const auto sms = static_cast<std::int64_t>(required_param(e, "sms"));
    if (sms > 1) CHECK(gemm_seconds(e, s, d.whole(1, sms - 1)) >= base);
  }
}

TEST_CASE("grouped gemm is monotone in every expert and size") {
  Draws d(3);
  for (int i = 0; i < 1000; ++i) {
    const ProfileEntry e = random_entry(d, form("grouped_gemm_tiles"));
    const std::vector<std::int64_t> tokens = random_tokens(d);
    const GemmShape s{d.whole(1, 2000), d.whole(1, 2000), d.whole(1, 2000)};
    std::vector<std::int64_t> more = tokens;
    more[static_cast<std::size_t>(d.whole(0, static_cast<std::int64_t>(more.size()) - 1))] += d.whole(1, 300);
    const double base = grouped_gemm_seconds(e, tokens, s);
    CHECK(grouped_gemm_seconds(e, more, s) >= base);
    CHECK(grouped_gemm_seconds(e, tokens, {0, s.n + 100, s.k}) >= base);
    CHECK(grouped_gemm_seconds(e, tokens, {0, s.n, s.k + 100}) >= base);
    const double wgrad = grouped_wgrad_seconds(e, tokens, s);
    CHECK(grouped_wgrad_seconds(e, more, s) >= wgrad * (1.0 - 1e-12));
    CHECK(grouped_wgrad_seconds(e, tokens, {s.m + 100, s.n, 0}) >= wgrad);
  }
}

TEST_CASE("attention and the delta rule are monotone") {
  Draws d(4);
  for (int i = 0; i < 1000; ++i) {
    const ProfileEntry e = random_entry(d, form("attention_rate"));
    const std::int64_t seq = d.whole(1, 9000);
    AttentionShape s{d.whole(1, 4),
                     seq,
                     seq,
                     d.whole(1, 64),
                     d.whole(1, 8),
                     d.whole(8, 256),
                     d.whole(8, 256),
                     d.whole(0, 1) == 1,
                     d.whole(0, 2) == 0 ? d.whole(1, 4096) : 0};
    const double base = attention_seconds(e, s);
    AttentionShape longer = s;
    longer.seq_q += 100;
    longer.seq_kv += 100;
    CHECK(attention_seconds(e, longer) >= base);
    AttentionShape more_heads = s;
    ++more_heads.heads;
    CHECK(attention_seconds(e, more_heads) >= base);
    if (s.window > 0) {
      AttentionShape wider = s;
      wider.window += 500;
      CHECK(attention_seconds(e, wider) >= base);
    }
    const ProfileEntry g = random_entry(d, form("gdn_rate"));
    const GdnShape shape{d.whole(1, 4), seq, 2, d.whole(1, 64), 128, 128};
    CHECK(gdn_seconds(g, {shape.batch, shape.seq + 70, 2, shape.value_heads, 128, 128}) >= gdn_seconds(g, shape));
    CHECK(gdn_seconds(g, {shape.batch + 1, shape.seq, 2, shape.value_heads, 128, 128}) >= gdn_seconds(g, shape));
  }
}

TEST_CASE("the scan of Mamba-2 is monotone") {
  Draws d(11);
  for (int i = 0; i < 500; ++i) {
    const ProfileEntry e = random_entry(d, form("ssd_rate"));
    const SsdShape s{d.whole(1, 4), d.whole(1, 20000), d.whole(1, 128), 64, d.whole(1, 8), 128, 128};
    const double base = ssd_seconds(e, s);
    CHECK(ssd_seconds(e, {s.batch + 1, s.seq, s.heads, 64, s.groups, 128, 128}) >= base);
    CHECK(ssd_seconds(e, {s.batch, s.seq + 70, s.heads, 64, s.groups, 128, 128}) >= base);
    CHECK(ssd_seconds(e, {s.batch, s.seq, s.heads + 1, 64, s.groups, 128, 128}) >= base);
    CHECK(ssd_seconds(e, {s.batch, s.seq, s.heads, 64, s.groups + 1, 128, 128}) >= base);
    CHECK(ssd_seconds(e, {s.batch, s.seq, s.heads, 64, s.groups, 256, 128}) >= base);
  }
}

TEST_CASE("a collective is monotone in bytes, and faster on a faster link") {
  Draws d(5);
  for (int i = 0; i < 2000; ++i) {
    const ProfileEntry e = random_entry(d, form("collective"));
    const std::int64_t ranks = d.whole(2, 1024);
    const double bytes = d.real(1.0, 1e9);
    const double base = collective_seconds(e, ranks, bytes, {1e11});
    CHECK(collective_seconds(e, ranks, bytes * d.real(1.0, 3.0), {1e11}) >= base);
    CHECK(collective_seconds(e, ranks, bytes, {2e11}) <= base);
  }
}

TEST_CASE("a row over the tile boundary shows on an H100-like GPU") {
  // 2048 x 8448 is 528 tiles of 256 x 128, four full waves of 132; one row more starts new tiles in every column.
  const ProfileEntry e{
      "gemm",
      "bf16",
      "",
      "gemm_tiles",
      {{"peak", 914e12}, {"launch", 2.7e-6}, {"hbm", 3.2e12}, {"sms", 132.0}, {"k_half", 153.0}, {"tile_half", 4.7}},
      Provenance::assumed,
      "",
      {}};
  const double full = gemm_seconds(e, {2048, 8448, 4096});
  const double over = gemm_seconds(e, {2049, 8448, 4096});
  CHECK(over > 1.05 * full);
  CHECK(over < 1.3 * full);
}
