// Content hashes. SHA-256 names artifacts and records; it comes from OpenSSL's libcrypto.
#pragma once

#include <string>
#include <string_view>

namespace ptxbench {

// Lower-case hexadecimal, 64 characters.
std::string sha256_hex(std::string_view bytes);

}  // namespace ptxbench
