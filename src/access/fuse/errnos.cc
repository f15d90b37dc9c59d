#include "access/fuse/errnos.h"

#include <cerrno>

namespace aquifer::fuse {
namespace {

// What the manual pages of the file-system calls name, together.
// clang-format off
bool documented(int e) {
  switch (e) {
    case EPERM: case ENOENT: case EINTR: case EIO: case ENXIO: case E2BIG: case EBADF: case EAGAIN: case ENOMEM: case EACCES:
    case EBUSY: case EEXIST: case EXDEV: case ENODEV: case ENOTDIR: case EISDIR: case EINVAL: case ENFILE: case EMFILE:
    case ENOTTY: case ETXTBSY: case EFBIG: case ENOSPC: case ESPIPE: case EROFS: case EMLINK: case ERANGE: case EDEADLK:
    case ENAMETOOLONG: case ENOLCK: case ENOTEMPTY: case ELOOP: case ENODATA: case EOVERFLOW: case EOPNOTSUPP: case ETIMEDOUT:
    case ESTALE: case EDQUOT:
      return true;
    default:
      return false;
  }
}

bool mayBeUnimplemented(Op op) {
  switch (op) {
    case Op::open: case Op::opendir: case Op::create: case Op::read: case Op::write: case Op::lookup: case Op::getattr:
    case Op::setattr: case Op::flush: case Op::release: case Op::releasedir: case Op::readdir: case Op::readdirplus:
    case Op::fsync: case Op::fsyncdir: case Op::statfs: case Op::unlink: case Op::rmdir: case Op::rename: case Op::mkdir:
      return false;
    default:
      return true;
  }
}

// clang-format on
bool mayWait(Op op) { return op == Op::setlk || op == Op::setlkw || op == Op::read || op == Op::write || op == Op::open; }

}  // namespace

int documentedErrno(Op op, int errnum) {
  if (errnum == 0) return 0;
  if (errnum == ENOSYS) return op == Op::ioctl ? ENOTTY : mayBeUnimplemented(op) ? ENOSYS : EOPNOTSUPP;
  if (errnum == EAGAIN && !mayWait(op)) return EIO;
  // A deadlock is a matter of locks only; elsewhere it is an internal affair that must not leak.
  if (errnum == EDEADLK && op != Op::setlk && op != Op::setlkw) return EIO;
  return documented(errnum) ? errnum : EIO;
}

}  // namespace aquifer::fuse
