#include "object/http/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/clock.h"
#include "object/http/dial.h"

namespace aquifer::object::http {

namespace {

Status broken(const char* doing, int error) {
  return {Code::unavailable, std::string(doing) + ": " + std::string(codeText(static_cast<Code>(error)))};
}

}  // namespace

std::string Origin::text() const {
  const std::string name = host.find(':') != std::string::npos ? "[" + host + "]" : host;
  return port == (tls ? 443 : 80) ? name : name + ":" + std::to_string(port);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& host, uint16_t port, int64_t deadline) {
  TRY_ASSIGN(const int fd, dial(host, port, std::min(deadline, monotonicNanos() + kConnectNanos)));
  return std::unique_ptr<Connection>(new Connection(fd));
}

Connection::~Connection() {
  if (ssl_) SSL_free(ssl_);
  ::close(fd_);
}

Status Connection::wait(short events, int64_t deadline, short* got) const {
  const int64_t until = std::min(deadline, monotonicNanos() + kStallNanos);
  for (;;) {
    const int64_t left = until - monotonicNanos();
    if (left <= 0) return {Code::timedOut, "the server did not answer in time"};
    pollfd p{.fd = fd_, .events = events, .revents = 0};
    const int n = ::poll(&p, 1, static_cast<int>(left / 1'000'000 + 1));
    if (n < 0 && errno != EINTR) return broken("poll", errno);
    if (n <= 0) continue;
    if (got) *got = p.revents;
    return {};
  }
}

Status Connection::waitTls(int rc, int64_t deadline, const char* doing) {
  const int savedErrno = errno;
  switch (SSL_get_error(ssl_, rc)) {
    case SSL_ERROR_WANT_READ: return wait(POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE: return wait(POLLOUT, deadline);
    case SSL_ERROR_SYSCALL: return broken(doing, savedErrno ? savedErrno : ECONNRESET);
    default: break;
  }
  char text[160] = "the TLS connection broke";
  if (const unsigned long error = ERR_get_error()) ERR_error_string_n(error, text, sizeof(text));
  return {Code::io, std::string(doing) + ": " + text};
}

Result<size_t> Connection::read(std::span<std::byte> out, int64_t deadline) {
  if (out.empty()) return size_t{0};
  while (ssl_) {
    ERR_clear_error();
    errno = 0;
    const int n = SSL_read(ssl_, out.data(), static_cast<int>(std::min<size_t>(out.size(), 1u << 30)));
    if (n > 0) return static_cast<size_t>(n);
    if (SSL_get_error(ssl_, n) == SSL_ERROR_ZERO_RETURN) return size_t{0};
    TRY(waitTls(n, deadline, "receive"));
  }
  for (;;) {
    const ssize_t n = ::recv(fd_, out.data(), out.size(), 0);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return broken("receive", errno);
    TRY(wait(POLLIN, deadline));
  }
}

Status Connection::write(std::span<const std::byte> bytes, bool more, int64_t deadline, bool* interrupted) {
  *interrupted = false;
  while (!bytes.empty()) {
    ssize_t n = 0;
    if (ssl_) {
      ERR_clear_error();
      errno = 0;
      n = SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), 1u << 30)));
      if (n <= 0) {
        if (Status s = waitTls(static_cast<int>(n), deadline, "send"); !s) {
          if (s.is(Code::timedOut)) return s;
          *interrupted = true;
          return {};
        }
        continue;
      }
    } else {
      n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        short got = 0;
        TRY(wait(POLLOUT | POLLIN, deadline, &got));
        // The server has made up its mind before it has seen everything.
        if (!(got & POLLIN)) continue;
        *interrupted = true;
        return {};
      }
      if (n < 0) {
        *interrupted = true;
        return {};
      }
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

bool Connection::quiet() const {
  if (ssl_ && SSL_pending(ssl_) > 0) return false;
  pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&p, 1, 0) == 0;
}

namespace {

// Like OpenSSL's own socket BIO, but a closed connection raises no signal.
int bioWrite(BIO* bio, const char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(fd, data, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int bioRead(BIO* bio, char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::recv(fd, data, static_cast<size_t>(size), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

long bioControl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* socketBio(int fd) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
    if (!m) return m;
    BIO_meth_set_write(m, bioWrite);
    BIO_meth_set_read(m, bioRead);
    BIO_meth_set_ctrl(m, bioControl);
    return m;
  }();
  BIO* bio = method ? BIO_new(method) : nullptr;
  if (!bio) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

// Where the distributions keep the certificates that they trust.
constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                    "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                    "/etc/ssl/cert.pem"};

bool trustSystem(SSL_CTX* context) {
  if (std::getenv("SSL_CERT_FILE") || std::getenv("SSL_CERT_DIR")) return SSL_CTX_set_default_verify_paths(context) == 1;
  for (const char* bundle : kBundles)
    if (::access(bundle, R_OK) == 0) return SSL_CTX_load_verify_locations(context, bundle, nullptr) == 1;
  return SSL_CTX_set_default_verify_paths(context) == 1;
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::make(const TlsOptions& options) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (!context) return Status(Code::noMemory, "TLS cannot be set up");
  std::unique_ptr<TlsContext> out(new TlsContext(context, options.verify));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!options.caFile.empty()) {
    if (SSL_CTX_load_verify_locations(context, options.caFile.c_str(), nullptr) != 1)
      return Status(Code::config, "no certificates in " + options.caFile);
  } else if (options.verify && !trustSystem(context)) {
    return Status(Code::config, "the system's certificates cannot be read");
  }
  if (!options.certFile.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, options.certFile.c_str()) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, options.keyFile.c_str(), SSL_FILETYPE_PEM) != 1)
      return Status(Code::config, "the certificate " + options.certFile + " and its key cannot be used");
  }
  return out;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Status Connection::startTls(const TlsContext& context, const std::string& host, int64_t deadline) {
  ssl_ = SSL_new(context.get());
  BIO* bio = ssl_ ? socketBio(fd_) : nullptr;
  if (!bio) return {Code::noMemory, "TLS cannot be set up"};
  SSL_set_bio(ssl_, bio, bio);
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl_);
  const bool isAddress = X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) == 1;
  if (!isAddress && (SSL_set1_host(ssl_, host.c_str()) != 1 || SSL_set_tlsext_host_name(ssl_, host.c_str()) != 1))
    return {Code::config, "not a host name: " + host};
  const int64_t until = std::min(deadline, monotonicNanos() + 2 * kConnectNanos);
  for (;;) {
    ERR_clear_error();
    errno = 0;
    const int rc = SSL_connect(ssl_);
    if (rc == 1) return {};
    const long verdict = SSL_get_verify_result(ssl_);
    if (Status s = waitTls(rc, until, "TLS handshake"); !s) {
      if (context.verify() && verdict != X509_V_OK)
        return {Code::io, "the certificate of " + host + " is not trusted: " + X509_verify_cert_error_string(verdict)};
      return s.annotate(host);
    }
  }
}

}  // namespace aquifer::object::http
