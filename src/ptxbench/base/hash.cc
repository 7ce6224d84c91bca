#include "ptxbench/base/hash.h"

#include <openssl/evp.h>

#include "ptxbench/base/check.h"

namespace ptxbench {

std::string sha256_hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  PTXBENCH_CHECK(ok == 1 && size == 32, "SHA-256 failed");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace ptxbench
