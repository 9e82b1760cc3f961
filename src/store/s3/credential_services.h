// The services that hand out credentials: STS for web identities, the endpoints of containers and of instances, and
// programs named in a profile.
//
// These are the only requests of the library that may go to the addresses where clouds keep credentials; reads of data
// never do. All functions block until they have an answer or `stop` is requested. Thread-safe.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "penstock/result.h"
#include "store/s3/s3_credentials.h"

namespace penstock {

// The answer of STS to the token in a file, for a role.
struct WebIdentity {
  std::string token_file, role_arn, session_name, region;
};
Result<S3Credentials> fetch_by_web_identity(const WebIdentity& identity, std::stop_token stop);

// From the endpoint of the container that AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or ..._FULL_URI names.
Result<S3Credentials> fetch_from_container(std::stop_token stop);

// From the machine, by version 2 of the protocol. Empty: there is no such service.
Result<std::optional<S3Credentials>> fetch_from_instance(std::stop_token stop);

// From the output of a program, which has one minute.
Result<S3Credentials> fetch_from_program(const std::string& command, std::stop_token stop);

// The two forms of answers; the bytes cannot be trusted. `what` names them in errors.
Result<S3Credentials> parse_credentials_json(std::string_view json, std::string_view what);
Result<S3Credentials> parse_sts_answer(std::string_view xml);

}  // namespace penstock
