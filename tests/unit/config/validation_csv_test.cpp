#include <doctest/doctest.h>

#include <string>

#include "sim/base/error.h"
#include "sim/config/validation_csv.h"

using namespace tessella;

namespace {

const std::string kHeader = "id,group,model,gpu,gpus,seq,gbs,mbs,tp,pp,cp,dp,step_s,tokens_s_gpu,note\n";

std::string error_of(const std::string& text) {
  try {
    load_measured_runs_text("runs.csv", text);
  } catch (const InputError& error) {
    return format_error(error);
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a row keeps what it states and leaves open what it does not") {
  const auto runs = load_measured_runs_text(
      "runs.csv", kHeader + "a,g,\"Model, \"\"big\"\"\",H100,16,4096,64,1,2,2,,4,3.5,,\"two\nlines\"\n"
                            "\nb,g,M,H100,8,4096,8,,1,1,,,2,,\n");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].line == 2);
  CHECK(runs[0].model == "Model, \"big\"");
  CHECK(*runs[0].gpus == 16);
  CHECK_FALSE(runs[0].cp.has_value());
  CHECK(*runs[0].step_s == doctest::Approx(3.5));
  CHECK(runs[0].contradictions.empty());
  CHECK(runs[1].line == 5); // the field of two lines and a blank one
  CHECK_FALSE(runs[1].mbs.has_value());
}

TEST_CASE("a row that contradicts itself is no error but says so") {
  const auto runs =
      load_measured_runs_text("runs.csv", kHeader + "a,g,M,H100,16,4096,64,1,2,2,2,4,3.5,,\n"     // 2*2*2*4 = 32
                                                    "b,g,M,H100,16,4096,64,3,2,2,1,4,3.5,,\n"     // 64 % 12
                                                    "c,g,M,H100,16,4096,64,1,2,2,1,4,4.0,8192,\n" // 4,096
                                                    "d,g,M,H100,16,4096,64,1,2,2,1,4,4.0,4100,\n");
  REQUIRE(runs.size() == 4);
  REQUIRE(runs[0].contradictions.size() == 1);
  CHECK(says(runs[0].contradictions[0], "gpus 16 is not tp 2 * pp 2 * cp 2 * dp 4 = 32"));
  REQUIRE(runs[1].contradictions.size() == 1);
  CHECK(says(runs[1].contradictions[0], "gbs 64"));
  REQUIRE(runs[2].contradictions.size() == 1);
  CHECK(says(runs[2].contradictions[0], "4096"));
  CHECK(runs[3].contradictions.empty());
}

TEST_CASE("mistakes are named with their row") {
  CHECK(says(error_of(kHeader + "a,g,M,H100,x,4096,64,1,2,2,1,4,3.5,,\n"), "runs.csv:2"));
  CHECK(says(error_of(kHeader + "a,g,M,H100,x,4096,64,1,2,2,1,4,3.5,,\n"), "gpus: 'x' is not a number"));
  CHECK(says(error_of(kHeader + "a,g,M,H100,8,4096,64,1,2,2,1,2,-3.5,,\n"), "step_s: -3.5 is not above 0"));
  CHECK(says(error_of(kHeader + "a,g,M,H100,8,4096,64,1,2,2,1,2,0,,\n"), "step_s: 0 is not above 0"));
  CHECK(says(error_of(kHeader + "a,g,M,H100,8.5,4096,64,1,2,2,1,2,1,,\n"), "gpus: 8.5 is not a whole number"));
  CHECK(says(error_of(kHeader + "a,g,M,H100,8,4096,64,1,2,2,1,2,nan,,\n"), "step_s"));
  const std::string row = "a,g,M,H100,16,4096,64,1,2,2,1,4,3.5,,\n";
  CHECK(says(error_of(kHeader + row + row), "runs.csv:3"));
  CHECK(says(error_of(kHeader + row + row), "id 'a' is already in line 2"));
  CHECK(says(error_of(kHeader + "a,g,M\n"), "3 fields, but the header names 15 columns"));
  CHECK(says(error_of(kHeader + "\"a,g,M\n"), "not closed"));
  CHECK(says(error_of(""), "no header"));
  CHECK(says(error_of("id,id,group\n"), "'id' is there twice"));
  CHECK(says(error_of("id,group,model,gpu,seq,gbs,tp,pp,step_s\n"), "there is no column 'gpus'"));
  CHECK(says(error_of("id,group,model,gpu,gpus,seq,gbs,tp,pp\n"), "tokens_s_gpu"));
  // All of them at once, the first as the error.
  const std::string both = error_of(kHeader + "a,g,M,H100,x,4096,64,1,2,2,1,4,-1,,\n");
  CHECK(says(both, "gpus"));
  CHECK(says(both, "step_s"));
}

TEST_CASE("a model name has a model or a reason, not both") {
  const auto aliases = load_model_aliases_text("m.csv", "name,model,reason\nA,llama2_7b,\nB,,no layer kind\n");
  REQUIRE(aliases.size() == 2);
  CHECK(aliases[0].model == "llama2_7b");
  CHECK(aliases[1].reason == "no layer kind");
  CHECK_THROWS_AS(load_model_aliases_text("m.csv", "name,model,reason\nA,,\n"), InputError);
  CHECK_THROWS_AS(load_model_aliases_text("m.csv", "name,model,reason\nA,x,y\n"), InputError);
}
