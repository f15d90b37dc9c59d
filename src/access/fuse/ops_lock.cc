// Locks, and the messages that concern other requests.
#include "access/fuse/dispatcher.h"

namespace aquifer::fuse {

void Dispatcher::getlk(Call& c) {
  LkIn in;
  if (!c.in.take(in)) return malformed(c);
  auto found = vfs_.getlk(c.ctx, c.in.node(), in.fh, in.owner, {in.lk.type, in.lk.pid, in.lk.start, in.lk.end});
  if (!found) return fail(c, found.status());
  c.out->put(LkOut{{found->start, found->end, found->type, found->pid}});
}

void Dispatcher::setlk(Call& c) {
  LkIn in;
  if (!c.in.take(in)) return malformed(c);
  if (in.lk.type > 2) return malformed(c);
  const bool block = c.in.op() == Op::setlkw;
  // Most locks are free: try here, and only a lock that has to be waited for costs a thread.
  auto attempt = [&](bool wait) {
    if (in.flags & kLkFlock)
      return vfs_.flock(c.ctx, c.in.node(), in.fh, in.owner, static_cast<meta::LockType>(in.lk.type), wait);
    return vfs_.setlk(c.ctx, c.in.node(), in.fh, in.owner, {in.lk.type, in.lk.pid, in.lk.start, in.lk.end}, wait);
  };
  auto s = attempt(block && c.mayWait);
  if (!s && block && !c.mayWait && s.is(Code::wouldBlock)) {
    c.mustWait = true;
    return;
  }
  if (!s) fail(c, s);
}

void Dispatcher::forget(Call& c) {
  c.out->none();
  ForgetIn in;
  if (c.in.take(in)) vfs_.forget(c.in.node(), in.nlookup);
}

void Dispatcher::batchForget(Call& c) {
  c.out->none();
  BatchForgetIn in;
  if (!c.in.take(in)) return;
  ForgetOne one;
  for (uint32_t i = 0; i < in.count && c.in.take(one); ++i) vfs_.forget(one.nodeId, one.nlookup);
}

void Dispatcher::interrupt(Call& c) {
  c.out->none();
  InterruptIn in;
  if (c.in.take(in)) interrupt_(in.unique);
}

void Dispatcher::destroy(Call&) {}  // the answer is all that the kernel waits for; unmounting shows as ENODEV

}  // namespace aquifer::fuse
