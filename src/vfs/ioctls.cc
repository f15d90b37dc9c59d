// ioctl: the attribute flags of lsattr and chattr.
#include <fmt/format.h>
#include <linux/fs.h>

#include "base/bytes.h"
#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
// The commands as 32-bit programs send them.
constexpr uint32_t kGetFlags32 = 0x80046601, kSetFlags32 = 0x40046602;
}  // namespace

Result<std::string> VfsImpl::doIoctl(const Context& ctx, Ino ino, uint32_t cmd, std::string_view in, size_t outSize) {
  if (!config_.enableIoctl || isSpecial(ino)) return Code::noTty;
  switch (cmd) {
    case FS_IOC_GETFLAGS:
    case kGetFlags32: {
      TRY_ASSIGN(auto attr, meta_.getattr(ctx, ino));
      uint64_t flags = 0;
      if (attr.flags & meta::kFlagImmutable) flags |= FS_IMMUTABLE_FL;
      if (attr.flags & meta::kFlagAppend) flags |= FS_APPEND_FL;
      if (attr.flags & meta::kFlagSkipTrash) flags |= FS_SECRM_FL;
      std::string out;
      appendLittle<uint64_t>(out, flags);
      out.resize(std::min<size_t>(out.size(), std::max<size_t>(outSize, 4)));
      return out;
    }
    case FS_IOC_SETFLAGS:
    case kSetFlags32: {
      if (config_.readOnly) return Code::readOnly;
      if (in.size() < 4) return Code::invalid;
      auto flags = ByteReader(in).little<uint32_t>();
      meta::SetAttr set;
      set.mask = meta::kSetFlags;
      if (flags & FS_IMMUTABLE_FL) set.flags |= meta::kFlagImmutable;
      if (flags & FS_APPEND_FL) set.flags |= meta::kFlagAppend;
      if (flags & FS_SECRM_FL) set.flags |= meta::kFlagSkipTrash;
      if (flags & ~uint32_t{FS_IMMUTABLE_FL | FS_APPEND_FL | FS_SECRM_FL}) return Code::unsupported;
      TRY(meta_.setattr(ctx, ino, set));
      changes_.changed(ino);
      coherence_.changedHere(ino);   // of the time of the change the kernel knows nothing
      return std::string();
    }
    case FS_IOC_FSGETXATTR: {
      TRY_ASSIGN(auto attr, meta_.getattr(ctx, ino));
      struct fsxattr x {};
      if (attr.flags & meta::kFlagImmutable) x.fsx_xflags |= FS_XFLAG_IMMUTABLE;
      if (attr.flags & meta::kFlagAppend) x.fsx_xflags |= FS_XFLAG_APPEND;
      return std::string(reinterpret_cast<const char*>(&x), sizeof x);
    }
    default: return Code::noTty;
  }
}

Result<std::string> VfsImpl::ioctl(const Context& ctx, Ino ino, Handle, uint32_t cmd, std::string_view in, size_t outSize) {
  auto o = op(ctx, OpKind::ioctl);
  return o.done(doIoctl(ctx, ino, cmd, in, outSize), [&](auto& r) {
    auto hex = [](std::string_view b) {
      std::string t;
      for (unsigned char c : b.substr(0, 64)) t += fmt::format("{:02x}", c);
      return t;
    };
    return fmt::format("({},0x{:X},0x0,[{}],[{}])", ino, cmd, hex(in), r ? hex(*r) : "");
  });
}

}  // namespace aquifer::vfs
