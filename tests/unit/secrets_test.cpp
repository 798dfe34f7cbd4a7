#include "base/secrets.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tprof {
namespace {

// Words are parted by | here.
std::string masked(std::string line, size_t size = 4096) {
  std::replace(line.begin(), line.end(), '|', '\0');
  std::string words = line + '\0', out(size, '?');
  int bytes = mask_secrets(words.data(), int(words.size()), out.data(), int(out.size()));
  out.resize(size_t(bytes));
  if (!out.empty() && !out.back()) out.pop_back();
  std::replace(out.begin(), out.end(), '\0', '|');
  return out;
}

struct Case {
  const char *line, *masked;
};

TEST(Secrets, ValuesOfOptionsAreMasked) {
  const Case cases[] = {
      {"python|train.py|--api-key|abc|--lr|1e-3", "python|train.py|--api-key|***|--lr|1e-3"},
      {"--api-key=abc|x", "--api-key=***|x"},
      {"--api_key|abc", "--api_key|***"},
      {"--apiKey=abc", "--apiKey=***"},
      {"--APIKey=abc", "--APIKey=***"},
      {"--apikey|abc", "--apikey|***"},
      {"-token|abc", "-token|***"},
      {"--hub_token|abc", "--hub_token|***"},
      {"--hub-token=abc=def", "--hub-token=***"},
      {"--HFToken|abc", "--HFToken|***"},
      {"--aws_access_key_id|abc|--aws_secret_access_key|d/e+f", "--aws_access_key_id|***|--aws_secret_access_key|***"},
      {"--password|correct horse battery", "--password|***"},
      {"--password|123456", "--password|***"},
      {"--db-pass|x", "--db-pass|***"},
      {"--login.credentials|x", "--login.credentials|***"},
      {"--auth|user:abc", "--auth|***"},
      {"--token|-5x", "--token|***"},
      {"--header|Authorization: Bearer abc", "--header|Authorization: ***"},
      {"--token_2=abc", "--token_2=***"},
      {"--password|", "--password|"},
      {"--password", "--password"},
  };
  for (const Case& c : cases) EXPECT_EQ(masked(c.line), c.masked) << c.line;
}

TEST(Secrets, AssignmentsAreMasked) {
  const Case cases[] = {
      {"env|API_KEY=abc|python", "env|API_KEY=***|python"},
      {"WANDB_API_KEY=a b", "WANDB_API_KEY=***"},
      {"+wandb.api_key=abc|model=x", "+wandb.api_key=***|model=x"},
      {"++trainer.logger.token=abc", "++trainer.logger.token=***"},
      {"--env=HF_TOKEN=a b", "--env=HF_TOKEN=***"},
      {"wandb={api_key:abc,project:x}", "wandb={api_key:***,project:x}"},
      {"--set|lr=1,token=abc,wd=2", "--set|lr=1,token=***,wd=2"},
      {"--config|{\"lr\": 1, \"api_key\": \"a b\", \"x\": 2}", "--config|{\"lr\": 1, \"api_key\": \"***\", \"x\": 2}"},
      {"--config|{\"auth\": {\"user\": \"a\", \"x\": \"b\"}}", "--config|{\"auth\": ***"},
      {"--args|[\"--api_key\", \"abc\", \"--lr\", \"1\"]", "--args|[\"--api_key\", \"***\", \"--lr\", \"1\"]"},
      {"sh|-c|export HF_TOKEN=abc; python train.py --password 'a b' --lr 1",
       "sh|-c|export HF_TOKEN=***; python train.py --password '***' --lr 1"},
      {"python|-c|import wandb; wandb.login(key=\"abc\")", "python|-c|import wandb; wandb.login(key=\"***\")"},
      {"python|-c|import os; os.environ[\"HF_TOKEN\"] = \"abc\"",
       "python|-c|import os; os.environ[\"HF_TOKEN\"] = \"***\""},
      {"a title: serve --token abc --port 80", "a title: serve --token *** --port 80"},
  };
  for (const Case& c : cases) EXPECT_EQ(masked(c.line), c.masked) << c.line;
}

TEST(Secrets, UsersOfUrlsAreMasked) {
  const Case cases[] = {
      {"postgres://me:abc@db:5432/runs", "postgres://***@db:5432/runs"},
      {"--url=https://abc@host/x?a=1", "--url=https://***@host/x?a=1"},
      {"s3://AK:a/b@c@bucket/x", "s3://***@bucket/x"},
      {"s3://AK:a/b@bucket", "s3://***@bucket"},
      {"etcd://a:b@one,c:d@two/x", "etcd://***@two/x"},
      {"tcp://10.0.0.1:29500", "tcp://10.0.0.1:29500"},
      {"http://host:8080/a@b", "http://host:8080/a@b"},
      {"http://[::1]/a@b", "http://[::1]/a@b"},
      {"https://host/a?user=x@y", "https://host/a?user=x@y"},
      {"https://host/a?sig=abc&x=1&access_token=def", "https://host/a?sig=***&x=1&access_token=***"},
      {"https://", "https://"},
      {"file:///data/x", "file:///data/x"},
  };
  for (const Case& c : cases) EXPECT_EQ(masked(c.line), c.masked) << c.line;
}

TEST(Secrets, KnownTokensAreMaskedWhereverTheyStand) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  EXPECT_EQ(masked("login|hf_" + letters), "login|***");
  EXPECT_EQ(masked("--x=ghp_" + letters + "|y"), "--x=***|y");
  EXPECT_EQ(masked("sk-proj-" + letters), "***");
  EXPECT_EQ(masked("AKIAABCDEFGHIJKLMNOP"), "***");
  EXPECT_EQ(masked("Bearer " + letters), "***");
  EXPECT_EQ(masked("hf_models_of_a_team_for_the_long_run_2024"), "hf_models_of_a_team_for_the_long_run_2024");
  EXPECT_EQ(masked("task-" + letters), "task-" + letters);
  EXPECT_EQ(masked("hf_"), "hf_");
}

TEST(Secrets, WhatIsNoSecretStays) {
  const char* const lines[] = {
      "python|train.py|--max_tokens|512|--num-key-value-heads|8",
      "--token|--lr|1",
      "--token|-v",
      "--tokens_per_step|1e5",
      "--tokenizer_name|x",
      "--pad_token|<pad>|--eos-token=</s>",
      "--text_key|prompt|--sort-key=length",
      "--token-file|/run/token|--api_key_env=KEY_OF_MINE",
      "--use_auth_token|True",
      "--token|-1.5e-3",
      "--monkey|x|--passenger|y|--author|z|--keyboard=q",
      "train.py|/data/secret.bin|key.pem",
      "secret://vault",
      "--push_to_hub|--hub_private_repo",
      "x|-k|auth and not slow",
      "",
      "||",
  };
  for (const char* line : lines) EXPECT_EQ(masked(line), line);
}

TEST(Secrets, WhatHasNoRoomIsLeftOut) {
  EXPECT_EQ(masked("--token|abcdef", 10), "--token");  // no part of the stars
  EXPECT_EQ(masked("abcdef", 3), "abc");
  EXPECT_EQ(masked("abcdef", 0), "");
  std::string words = "--token";  // no NUL at the end, as a process may have overwritten it
  char out[64];
  EXPECT_EQ(mask_secrets(words.data(), int(words.size()), out, sizeof out), 7);
  EXPECT_EQ(mask_secrets(nullptr, 0, out, sizeof out), 0);
}

TEST(Secrets, EveryCutOfALineIsRead) {
  const std::string line = "--token|'a b|x=\"key\": {[\"|p://a:b@c|Bearer abcdefghijk|--password \\\"x|eyJ";
  for (size_t from = 0; from < line.size(); from++)
    for (size_t bytes = 0; from + bytes <= line.size(); bytes++) masked(line.substr(from, bytes));
}

TEST(Secrets, TheOwnCommandEndsWithNul) {
  char out[4096];
  int bytes = read_own_command(out, sizeof out);
  ASSERT_GT(bytes, 0);
  EXPECT_EQ(out[bytes], 0);
  EXPECT_TRUE(strstr(out, "unit_tests"));
  EXPECT_EQ(read_own_command(out, 4), 3);
  EXPECT_EQ(out[3], 0);
}

}  // namespace
}  // namespace tprof
