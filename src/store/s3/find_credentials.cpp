#include "store/s3/find_credentials.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/guarded.h"
#include "base/hash.h"
#include "base/text/lower_case.h"
#include "store/s3/credential_services.h"
#include "store/s3/profile_files.h"

namespace penstock {
namespace {

constexpr const char* kGoogle = "https://storage.googleapis.com";

std::string variable_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The switches that GDAL and others read are "YES", "TRUE" or "1".
bool is_on(const char* name) {
  const std::string value = lower_case(variable_of(name));
  return value == "yes" || value == "true" || value == "1";
}

std::string first_of(std::initializer_list<std::string> values) {
  for (const std::string& value : values)
    if (!value.empty()) return value;
  return {};
}

std::string setting_of(const Profile& profile, const char* name) {
  const auto found = profile.find(name);
  return found == profile.end() ? "" : found->second;
}

std::optional<S3Credentials> keys_in_environment(const char* id, const char* secret, const char* token) {
  S3Credentials credentials{variable_of(id), variable_of(secret), token == nullptr ? "" : variable_of(token), {}, {}};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) return std::nullopt;
  return credentials;
}

std::string session_name(const std::string& wanted) {
  return wanted.empty() ? fmt::format("penstock-{}", ::getpid()) : wanted;
}

std::unexpected<Error> none_found(std::string_view places) {
  return fail(ErrorCode::kNoAccess, fmt::format("no credentials were found ({}); anonymous=True reads without them",
                                                places));
}

// Credentials with line breaks could add headers to requests.
Result<S3Credentials> checked(S3Credentials credentials) {
  for (const std::string* text : {&credentials.access_key_id, &credentials.session_token, &credentials.bearer_token})
    for (const char c : *text)
      if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F)
        return fail(ErrorCode::kNoAccess, "the credentials have a blank or a control character");
  if (!credentials.is_anonymous && credentials.bearer_token.empty() &&
      (credentials.access_key_id.empty() || credentials.secret_access_key.empty()))
    return fail(ErrorCode::kNoAccess, "the credentials have no keys");
  return credentials;
}

Result<S3Credentials> find_google_credentials(const std::string& profile_name) {
  if (S3Credentials credentials; !variable_of("GOOGLE_OAUTH_ACCESS_TOKEN").empty()) {
    credentials.bearer_token = variable_of("GOOGLE_OAUTH_ACCESS_TOKEN");
    return credentials;
  }
  if (auto keys = keys_in_environment("GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY", nullptr)) return *keys;
  if (auto keys = keys_in_environment("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", nullptr)) return *keys;
  const Profile profile = read_profile(profile_name);
  const S3Credentials keys{setting_of(profile, "aws_access_key_id"), setting_of(profile, "aws_secret_access_key"), {}, {}, {}};
  if (!keys.access_key_id.empty()) return keys;
  return none_found("in GOOGLE_OAUTH_ACCESS_TOKEN, GS_ACCESS_KEY_ID, AWS_ACCESS_KEY_ID or the profile");
}

// The environment as far as it decides about credentials, so that one cache serves those stores that would find the
// same ones. A digest, because it is kept.
std::uint64_t digest_of_environment() {
  std::string text;
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_DISABLED",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_ENDPOINT_URL_STS", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
        "HOME", "GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY", "GOOGLE_OAUTH_ACCESS_TOKEN"})
    text += variable_of(name) + '\0';
  return hash_text(text, 0);
}

// Caches by origin, as long as a store uses them. The one global of this folder: endpoints of credentials limit the
// requests of a machine, and a training job opens many stores.
std::shared_ptr<CredentialCache> shared_cache(const std::string& scheme, const std::string& profile) {
  static Mutex mutex;
  static std::map<std::string, std::weak_ptr<CredentialCache>> caches;
  const std::string origin = fmt::format("{}\n{}\n{:016x}", scheme, profile, digest_of_environment());
  const MutexLock lock(mutex);
  std::weak_ptr<CredentialCache>& known = caches[origin];
  if (auto cache = known.lock()) return cache;
  auto cache = std::make_shared<CredentialCache>([scheme, profile](std::stop_token stop) -> Result<S3Credentials> {
    auto found = find_credentials(scheme, profile, std::move(stop));
    if (!found) return found;
    return checked(*std::move(found));
  });
  known = cache;
  return cache;
}

std::shared_ptr<CredentialCache> cache_for(const std::string& scheme, const std::string& profile,
                                           const S3Options& options) {
  if (options.is_anonymous || is_on("AWS_NO_SIGN_REQUEST"))
    return std::make_shared<CredentialCache>([](std::stop_token) -> Result<S3Credentials> {
      S3Credentials credentials;
      credentials.is_anonymous = true;
      return credentials;
    });
  if (!options.credentials) return shared_cache(scheme, profile);
  const auto fetch = [ask = options.credentials](std::stop_token) -> Result<S3Credentials> {
    auto given = ask();
    if (!given) return given;
    return checked(*std::move(given));
  };
  return std::make_shared<CredentialCache>(fetch, CredentialCache::End::kDoesNotWait);
}

}  // namespace

Result<S3Credentials> find_credentials(const std::string& scheme, const std::string& profile_name,
                                       std::stop_token stop) {
  if (scheme == "gs") return find_google_credentials(profile_name);
  if (auto keys = keys_in_environment("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")) return *keys;
  const Profile profile = read_profile(profile_name);
  const std::string region =
      first_of({variable_of("AWS_REGION"), variable_of("AWS_DEFAULT_REGION"), setting_of(profile, "region")});
  if (const std::string file = variable_of("AWS_WEB_IDENTITY_TOKEN_FILE"), role = variable_of("AWS_ROLE_ARN");
      !file.empty() && !role.empty())
    return fetch_by_web_identity({file, role, session_name(variable_of("AWS_ROLE_SESSION_NAME")), region}, stop);
  if (const std::string id = setting_of(profile, "aws_access_key_id"); !id.empty())
    return S3Credentials{id, setting_of(profile, "aws_secret_access_key"), setting_of(profile, "aws_session_token"), {}, {}};
  if (const std::string file = setting_of(profile, "web_identity_token_file"); !file.empty())
    return fetch_by_web_identity(
        {file, setting_of(profile, "role_arn"), session_name(setting_of(profile, "role_session_name")), region}, stop);
  if (const std::string command = setting_of(profile, "credential_process"); !command.empty())
    return fetch_from_program(command, stop);
  if (!setting_of(profile, "role_arn").empty() || !setting_of(profile, "sso_start_url").empty() ||
      !setting_of(profile, "sso_session").empty())
    return fail(ErrorCode::kNoAccess,
                fmt::format("the profile \"{}\" wants a role or a single sign-on, which this store does not do itself; "
                            "set credential_process = aws configure export-credentials --profile ... --format process",
                            profile_name));
  if (!variable_of("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() ||
      !variable_of("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty())
    return fetch_from_container(stop);
  if (lower_case(variable_of("AWS_EC2_METADATA_DISABLED")) != "true") {
    auto found = fetch_from_instance(stop);
    if (!found) return std::unexpected(std::move(found).error());
    if (*found) return **std::move(found);
  }
  return none_found(fmt::format("in AWS_ACCESS_KEY_ID, the profile \"{}\", or an endpoint of this machine", profile_name));
}

Result<S3Setup> find_s3_setup(const std::string& scheme, const S3Options& options) {
  const std::string profile_name = options.profile.empty() ? usual_profile() : options.profile;
  const Profile profile = read_profile(profile_name);
  if (!options.profile.empty() && profile.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no profile \"{}\"", options.profile));
  S3Setup setup;
  if (scheme == "gs") {
    setup.location.endpoint = options.endpoint.empty() ? kGoogle : options.endpoint;
    setup.location.region = options.region.empty() ? "auto" : options.region;
  } else {
    const bool ignores = lower_case(variable_of("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) == "true";
    setup.location.endpoint = options.endpoint;
    if (setup.location.endpoint.empty() && !ignores)
      setup.location.endpoint = first_of({variable_of("AWS_ENDPOINT_URL_S3"), variable_of("AWS_ENDPOINT_URL"),
                                          setting_of(profile, "endpoint_url")});
    setup.location.region = first_of({options.region, variable_of("AWS_REGION"), variable_of("AWS_DEFAULT_REGION"),
                                      setting_of(profile, "region")});
  }
  setup.location.addressing = options.addressing;
  setup.requester_pays = options.requester_pays || variable_of("AWS_REQUEST_PAYER") == "requester";
  setup.credentials = cache_for(scheme, profile_name, options);
  return setup;
}

}  // namespace penstock
