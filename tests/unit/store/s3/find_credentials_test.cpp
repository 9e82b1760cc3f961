// Where credentials are found, and how they are kept.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "store/s3/credential_cache.h"
#include "store/s3/credential_services.h"
#include "store/s3/find_credentials.h"
#include "store/s3/profile_files.h"
#include "support/http_server.h"
#include "support/s3_reading.h"
#include "support/temporary_folder.h"
#include "support/text_bytes.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

// Variables for one test. All that might be set on the machine are removed first.
class Environment {
 public:
  Environment() {
    for (const char* name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE",
          "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
          "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
          "AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION",
          "AWS_PROFILE", "GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY", "GOOGLE_OAUTH_ACCESS_TOKEN"})
      set(name, nullptr);
    set("AWS_CONFIG_FILE", folder / "config");
    set("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials");
    set("AWS_EC2_METADATA_DISABLED", std::string("true"));
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
    }
  }
  void set(const char* name, const std::string& value) {
    keep(name);
    ::setenv(name, value.c_str(), 1);
  }
  void set(const char* name, std::nullptr_t) {
    keep(name);
    ::unsetenv(name);
  }

  void write(const std::string& name, std::string_view text) const { folder.write(name, bytes_of(text)); }

  TemporaryFolder folder;

 private:
  void keep(const char* name) {
    const char* value = std::getenv(name);
    before_.try_emplace(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
  }
  std::map<std::string, std::optional<std::string>> before_;
};

constexpr const char* kJson =
    R"({"Version": 1, "AccessKeyId": "id-1", "SecretAccessKey": "secret-1", "Token": "token-1",
        "Expiration": "2123-11-14T22:13:20Z"})";

class Credentials : public testing::Test {
 protected:
  Result<S3Credentials> find(const std::string& scheme = "s3") { return find_credentials(scheme, usual_profile(), {}); }
  std::string id(const std::string& scheme = "s3") {
    const auto found = find(scheme);
    return found ? found->access_key_id + "/" + found->secret_access_key + "/" + found->session_token
                 : found.error().describe();
  }

  Environment environment_;
  Watchdog watchdog_{"credentials"};
};

TEST_F(Credentials, come_from_the_environment_before_the_profile) {
  environment_.write("credentials", "[default]\naws_access_key_id = p\naws_secret_access_key=q\n");
  EXPECT_EQ(id(), "p/q/");
  environment_.set("AWS_ACCESS_KEY_ID", "a");
  environment_.set("AWS_SECRET_ACCESS_KEY", "b");
  environment_.set("AWS_SESSION_TOKEN", "c");
  EXPECT_EQ(id(), "a/b/c");
  EXPECT_EQ(id("gs"), "a/b/");
  environment_.set("GS_ACCESS_KEY_ID", "g");
  environment_.set("GS_SECRET_ACCESS_KEY", "h");
  EXPECT_EQ(id("gs"), "g/h/");
  environment_.set("GOOGLE_OAUTH_ACCESS_TOKEN", "ya29");
  EXPECT_EQ(find("gs")->bearer_token, "ya29");
}

TEST_F(Credentials, that_are_nowhere_are_an_error_that_says_where_it_looked) {
  const auto none = find();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNoAccess);
  EXPECT_NE(none.error().message.find("AWS_ACCESS_KEY_ID"), std::string::npos);
  EXPECT_FALSE(none.error().retryable);
}

TEST_F(Credentials, profiles_are_read_from_both_files) {
  environment_.write("config",
                            "# a comment\n[default]\nregion = eu-west-1\ns3 =\n  region = nested\n\n"
                            "[profile lab]\nregion=us-west-2 # here\nendpoint_url = http://h:1\nodd line\n"
                            "[ profile  other]\nregion = no\n");
  environment_.write("credentials", "[lab]\naws_access_key_id=x\r\nAWS_SECRET_ACCESS_KEY = y#z\r\n");
  EXPECT_EQ(read_profile("default"), (Profile{{"region", "eu-west-1"}, {"s3", ""}}));
  EXPECT_EQ(read_profile("lab"),
            (Profile{{"region", "us-west-2"}, {"endpoint_url", "http://h:1"}, {"aws_access_key_id", "x"},
                     {"aws_secret_access_key", "y#z"}}));
  EXPECT_TRUE(read_profile("none").empty());
  environment_.set("AWS_PROFILE", "lab");
  EXPECT_EQ(id(), "x/y#z/");
  const auto setup = find_s3_setup("s3", {});
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->location.endpoint, "http://h:1");
  EXPECT_EQ(setup->location.region, "us-west-2");
  environment_.set("AWS_ENDPOINT_URL", "http://h:2");
  environment_.set("AWS_REGION", "eu-west-2");
  EXPECT_EQ(find_s3_setup("s3", {})->location.endpoint, "http://h:2");
  EXPECT_EQ(find_s3_setup("s3", {})->location.region, "eu-west-2");
  environment_.set("AWS_ENDPOINT_URL_S3", "http://h:3");
  EXPECT_EQ(find_s3_setup("s3", {})->location.endpoint, "http://h:3");
  EXPECT_EQ(find_s3_setup("s3", {.endpoint = "http://h:4"})->location.endpoint, "http://h:4");
  EXPECT_EQ(find_s3_setup("gs", {})->location.endpoint, "https://storage.googleapis.com");
  EXPECT_EQ(find_s3_setup("s3", {.profile = "none"}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Credentials, come_from_a_program) {
  environment_.write("json", kJson);
  const auto with = [&](const std::string& command) {
    environment_.write("config", "[default]\ncredential_process = " + command + "\n");
    return id();
  };
  EXPECT_EQ(with("cat \"" + (environment_.folder / "json") + "\""), "id-1/secret-1/token-1");
  EXPECT_NE(with("false").find("credential_process failed"), std::string::npos);
  EXPECT_NE(with("echo secret-2").find("did not answer with JSON"), std::string::npos);
  EXPECT_EQ(with("echo secret-2").find("secret-2"), std::string::npos);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(fetch_from_program("sleep 1000", stop.get_token())) << "it is not waited for";
}

TEST_F(Credentials, come_from_a_web_identity) {
  HttpServer sts([](const HttpCall& call, HttpConnection& client) {
    const bool is_right =
        call.method == "POST" &&
        call.body == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
                     "RoleSessionName=s&WebIdentityToken=the.token";
    if (!is_right) return client.answer_status("400 Bad", {}, "<ErrorResponse/>");
    client.answer_status(
        "200 OK", {},
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
        "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>id-2</AccessKeyId><SecretAccessKey>secret-2"
        "</SecretAccessKey><SessionToken>token-2</SessionToken><Expiration>2123-11-14T22:13:20Z</Expiration>"
        "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  });
  environment_.write("token", "the.token\n");
  environment_.set("AWS_WEB_IDENTITY_TOKEN_FILE", environment_.folder / "token");
  environment_.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
  environment_.set("AWS_ROLE_SESSION_NAME", "s");
  environment_.set("AWS_ENDPOINT_URL_STS", sts.url(""));
  EXPECT_EQ(id(), "id-2/secret-2/token-2");
  EXPECT_GT(*find()->expires, std::chrono::system_clock::now() + std::chrono::hours(1000));
  environment_.write("token", "another");
  EXPECT_NE(id().find("STS refused"), std::string::npos);
  EXPECT_EQ(id().find("another"), std::string::npos);
}

TEST_F(Credentials, come_from_the_endpoint_of_a_container) {
  HttpServer endpoint([](const HttpCall& call, HttpConnection& client) {
    if (call.path != "/creds" || call.header("authorization") != "Bearer x") return client.answer_status("403 No");
    client.answer_status("200 OK", {}, kJson);
  });
  environment_.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url("/creds"));
  environment_.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer x");
  EXPECT_EQ(id(), "id-1/secret-1/token-1");
  for (const char* far : {"http://example.org/creds", "ftp://127.0.0.1/creds", "http://127.evil.org/creds"}) {
    environment_.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", far);
    EXPECT_FALSE(find()) << "the answer would be read by others: " << far;
  }
}

TEST_F(Credentials, come_from_the_endpoint_of_the_instance) {
  HttpServer endpoint([](const HttpCall& call, HttpConnection& client) {
    if (call.method == "PUT" && call.path == "/latest/api/token" &&
        call.header("x-aws-ec2-metadata-token-ttl-seconds") == "21600")
      return client.answer_status("200 OK", {}, "login");
    if (call.header("x-aws-ec2-metadata-token") != "login") return client.answer_status("401 No");
    if (call.path == "/latest/meta-data/iam/security-credentials/") return client.answer_status("200 OK", {}, "my role");
    if (call.path == "/latest/meta-data/iam/security-credentials/my%20role")
      return client.answer_status("200 OK", {}, kJson);
    client.answer_status("404 No");
  });
  environment_.set("AWS_EC2_METADATA_DISABLED", nullptr);
  environment_.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.url("/"));
  EXPECT_EQ(id(), "id-1/secret-1/token-1");
}

TEST_F(Credentials, of_many_stores_are_fetched_once) {
  std::atomic<int> asked{0};
  HttpServer endpoint([&](const HttpCall&, HttpConnection& client) {
    ++asked;
    client.pause(std::chrono::milliseconds(100));
    client.answer_status("200 OK", {}, kJson);
  });
  S3Server::Options setup;
  setup.access_key = "id-1";
  setup.secret_key = "secret-1";
  setup.session_token = "token-1";
  S3Server server(setup);
  server.put("bucket/a", "bytes");
  environment_.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url("/creds"));
  S3Options options;
  options.endpoint = server.endpoint();
  std::vector<std::shared_ptr<const Store>> stores;
  for (int i = 0; i < 5; ++i) stores.push_back(*make_s3_store("s3://bucket", options, impatient()));
  for (const auto& store : stores) EXPECT_EQ(store->stat("s3://bucket/a")->size, 5u);
  EXPECT_EQ(asked, 1);
}

std::string wait_for(CredentialCache& cache) {
  while (true) {
    const auto current = cache.current();
    if (current) return (*current)->access_key_id;
    if (!current.error().retryable) return current.error().message;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(CredentialCache, never_waits_and_fetches_once) {
  std::atomic<bool> may_go{false};
  CredentialCache cache([&](const std::stop_token&) -> Result<S3Credentials> {
    while (!may_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return S3Credentials{"id", "secret", "", {}, {}};
  });
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(cache.current().error().retryable);
  may_go = true;
  EXPECT_EQ(wait_for(cache), "id");
  EXPECT_EQ(cache.fetches(), 1u);
  EXPECT_TRUE(cache.renew());
  EXPECT_EQ(wait_for(cache), "id");
  EXPECT_EQ(cache.fetches(), 1u) << "credentials this young were not the ones that were refused";
}

TEST(CredentialCache, refreshes_in_the_background_before_the_end) {
  std::atomic<int> fetches{0};
  CredentialCache cache([&](const std::stop_token&) -> Result<S3Credentials> {
    return S3Credentials{"id-" + std::to_string(fetches++), "secret", "", "",
                         std::chrono::system_clock::now() + std::chrono::seconds(6)};
  });
  EXPECT_EQ(wait_for(cache), "id-0");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (fetches < 2 && std::chrono::steady_clock::now() < end) {
    const auto current = cache.current();
    EXPECT_TRUE(current) << "the old ones are valid until the new ones come";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(fetches, 2);
}

TEST(CredentialCache, keeps_an_error_for_a_while_and_stops_with_its_owner) {
  std::atomic<int> fetches{0};
  CredentialCache cache([&](const std::stop_token&) -> Result<S3Credentials> {
    ++fetches;
    return fail(ErrorCode::kNoAccess, "none");
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(wait_for(cache), "none");
  EXPECT_EQ(fetches, 1);
  CredentialCache stopped([&](const std::stop_token& stop) -> Result<S3Credentials> {
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return fail(ErrorCode::kStopped, "stopped");
  });
  EXPECT_FALSE(stopped.current());
}

}  // namespace
}  // namespace penstock
