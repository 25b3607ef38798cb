#include "calib/fit/least_squares.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/domain/kernel_forms.h"

namespace tessella::calib {
namespace {

constexpr double kRobustScale = 0.05;        // residuals beyond 5 % count linearly
constexpr double kStep = 1e-3;               // of the numeric derivative; forms have small steps themselves
constexpr double kMaxStandardError = 0.6931; // log 2
constexpr double kPriorError = 5.0;          // of a parameter before any data, in logarithms
constexpr int kMaxIterations = 200;

double& param(ProfileEntry& e, const std::string& key) {
  for (auto& [name, value] : e.params) {
    if (name == key) return value;
  }
  throw InternalError(fmt::format("no starting value for {}", key));
}

double robust_cost(const Eigen::VectorXd& r) {
  double cost = 0.0;
  for (const double x : r) cost += std::sqrt(1.0 + (x / kRobustScale) * (x / kRobustScale)) - 1.0;
  return cost;
}

class LevenbergMarquardt {
 public:
  explicit LevenbergMarquardt(const FitProblem& problem) : problem_(problem), names_(problem.free) {
    names_.insert(names_.end(), problem.nuisance.begin(), problem.nuisance.end());
    const std::vector<bool> unseen = held_out(problem.samples);
    for (std::size_t i = 0; i < unseen.size(); ++i) {
      if (!unseen[i]) training_.push_back(i);
    }
    check_counts();
  }

  ProfileEntry run() {
    Eigen::VectorXd p = start();
    Eigen::VectorXd r = residuals(p);
    double cost = robust_cost(r);
    double damping = 1e-2;
    for (int i = 0; i < kMaxIterations && damping < 1e8; ++i) {
      const Eigen::MatrixXd j = weighted_jacobian(p, r);
      const Eigen::VectorXd weighted = r.cwiseProduct(weights(r));
      const Eigen::MatrixXd normal = j.transpose() * j;
      const Eigen::VectorXd gradient = j.transpose() * weighted;
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping * (normal.diagonal().array() + 1e-12 * normal.diagonal().maxCoeff()).matrix();
      const Eigen::VectorXd next = p - damped.ldlt().solve(gradient).cwiseMax(-1.0).cwiseMin(1.0);
      const Eigen::VectorXd next_r = residuals(next);
      const double next_cost = robust_cost(next_r);
      if (!(next_cost < cost)) {
        damping *= 4.0;
        continue;
      }
      const bool converged = cost - next_cost < 1e-9 * cost;
      p = next;
      r = next_r;
      cost = next_cost;
      damping = std::max(damping / 4.0, 1e-9);
      if (converged) break;
    }
    refuse_if_undetermined(p, r);
    return entry(p);
  }

 private:
  void check_counts() const {
    if (training_.size() < 2 * names_.size()) {
      throw InputError(problem_.about, fmt::format("{} training rows cannot determine {} parameters; need at least {}",
                                                   training_.size(), names_.size(), 2 * names_.size()));
    }
  }

  Eigen::VectorXd start() const {
    Eigen::VectorXd p(static_cast<Eigen::Index>(names_.size()));
    ProfileEntry e = problem_.start;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const double value = param(e, names_[i]);
      TSL_CHECK_OP(value, >, 0.0);
      p(static_cast<Eigen::Index>(i)) = std::log(value);
    }
    return p;
  }

  ProfileEntry entry(const Eigen::VectorXd& p) const {
    ProfileEntry e = problem_.start;
    for (std::size_t i = 0; i < names_.size(); ++i) param(e, names_[i]) = std::exp(p(static_cast<Eigen::Index>(i)));
    return e;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& p) const {
    const ProfileEntry e = entry(p);
    Eigen::VectorXd r(static_cast<Eigen::Index>(training_.size()));
    for (std::size_t i = 0; i < training_.size(); ++i) {
      r(static_cast<Eigen::Index>(i)) =
          std::log(problem_.predict(e, training_[i]) / problem_.samples[training_[i]].seconds);
    }
    return r;
  }

  static Eigen::VectorXd weights(const Eigen::VectorXd& r) { // square roots of the robust weights
    return (1.0 + (r.array() / kRobustScale).square()).pow(-0.25);
  }

  Eigen::MatrixXd weighted_jacobian(const Eigen::VectorXd& p, const Eigen::VectorXd& r) const {
    Eigen::MatrixXd j(r.size(), p.size());
    const Eigen::VectorXd w = weights(r);
    for (Eigen::Index k = 0; k < p.size(); ++k) {
      Eigen::VectorXd up = p;
      Eigen::VectorXd down = p;
      up(k) += kStep;
      down(k) -= kStep;
      j.col(k) = ((residuals(up) - residuals(down)) / (2.0 * kStep)).cwiseProduct(w);
    }
    return j;
  }

  void refuse_if_undetermined(const Eigen::VectorXd& p, const Eigen::VectorXd& r) const {
    const Eigen::MatrixXd j = weighted_jacobian(p, r);
    const double variance = r.cwiseProduct(weights(r)).squaredNorm() / static_cast<double>(r.size() - p.size()) + 1e-12;
    // A very weak prior keeps a parameter without any effect from spoiling the errors of the others.
    Eigen::MatrixXd information = j.transpose() * j / variance;
    information.diagonal().array() += 1.0 / (kPriorError * kPriorError);
    const Eigen::MatrixXd covariance = information.inverse();
    for (std::size_t k = 0; k < problem_.free.size(); ++k) {
      const double error = std::sqrt(covariance(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(k)));
      if (!(error < kMaxStandardError)) {
        throw InputError(problem_.about,
                         fmt::format("the data do not determine `{}` (standard error a factor of {:.3g})",
                                     problem_.free[k], std::exp(error)));
      }
    }
  }

  const FitProblem& problem_;
  std::vector<std::string> names_;
  std::vector<std::size_t> training_;
};

std::vector<BucketError> errors_of(const FitProblem& problem, const ProfileEntry& e) {
  std::vector<BucketError> errors;
  const std::vector<bool> unseen = held_out(problem.samples);
  for (std::size_t i = 0; i < problem.samples.size(); ++i) {
    const Sample& s = problem.samples[i];
    errors.push_back({s.bucket, unseen[i], problem.predict(e, i) / s.seconds - 1.0});
  }
  return errors;
}

// Without the parameters that the form does not know: they describe the measurement.
ProfileEntry published(ProfileEntry e) {
  for (const FormSpec& form : form_table()) {
    if (form.name != e.form) continue;
    std::erase_if(e.params, [&](const auto& p) {
      return std::none_of(form.params.begin(), form.params.end(),
                          [&](const FormParam& f) { return f.name == p.first; });
    });
  }
  return e;
}

} // namespace

std::vector<bool> held_out(const std::vector<Sample>& samples) {
  const auto hash = [](const std::string& shape) {
    std::uint64_t h = 1469598103934665603ULL; // FNV-1a
    for (const char c : shape) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    h ^= h >> 32; // its high bits alone hardly depend on the last characters
    return h * 0x9E3779B97F4A7C15ULL;
  };
  std::vector<std::uint64_t> hashes;
  for (const Sample& s : samples) hashes.push_back(hash(s.shape));
  std::vector<std::uint64_t> distinct = hashes;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<bool> out(samples.size(), false);
  if (distinct.empty()) return out;
  const std::uint64_t limit = distinct[(distinct.size() + 4) / 5 - 1];
  for (std::size_t i = 0; i < samples.size(); ++i) out[i] = hashes[i] <= limit;
  return out;
}

Residual summarize(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  std::vector<double> a;
  for (const double e : errors) a.push_back(std::abs(e));
  std::sort(a.begin(), a.end());
  const auto rank = [&](double q) {
    return a[static_cast<std::size_t>(std::max(0.0, std::ceil(q * static_cast<double>(a.size())) - 1.0))];
  };
  return {rank(0.5), rank(0.95), static_cast<std::int64_t>(a.size())};
}

FitResult fit(const FitProblem& problem) {
  FitResult result;
  result.measured = LevenbergMarquardt(problem).run();
  result.errors = errors_of(problem, result.measured);
  result.entry = published(result.measured);
  std::vector<double> unseen;
  for (const BucketError& e : result.errors) {
    if (e.held_out) unseen.push_back(e.error);
  }
  result.entry.residual = summarize(unseen);
  return result;
}

FitResult evaluate(const FitProblem& problem) {
  FitResult result{published(problem.start), problem.start, errors_of(problem, problem.start), false};
  std::vector<double> all;
  for (BucketError& e : result.errors) {
    e.held_out = true;
    all.push_back(e.error);
  }
  result.entry.residual = summarize(all);
  return result;
}

} // namespace tessella::calib
