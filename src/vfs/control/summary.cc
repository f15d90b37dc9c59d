// Command summary (1007): sizes of the directories below an inode, some levels deep, the biggest first.
#include "meta/model/json_text.h"
#include "vfs/control/runner.h"

namespace aquifer::vfs {

namespace {
meta::Json treeJson(const meta::TreeSummary& t, bool top) {
  meta::Json j;
  j["Inode"] = t.ino;
  j["Path"] = top ? "" : t.path;
  j["Type"] = top ? 2 : static_cast<int>(t.type);   // tools take the top for a directory whatever it is
  j["Size"] = t.size;
  j["Files"] = t.files;
  j["Dirs"] = t.dirs;
  if (!t.children.empty()) {
    auto& children = j["Children"] = meta::Json::array();
    for (auto& c : t.children) children.push_back(treeJson(c, false));
  }
  return j;
}
}  // namespace

void controlSummary(ControlCall& call) {
  auto ino = call.body.big<uint64_t>();
  int depth = call.byteOr(3), top = call.byteOr(10);
  bool strict = call.byteOr(0);
  if (!call.body.ok()) return call.finishCode(Code::invalid);
  auto tree = call.env.meta.treeSummary(call.ctx, ino, depth, top, strict, call.progress());
  if (tree) call.progress()(tree->files + tree->dirs, tree->size);
  meta::TreeSummary empty;
  empty.ino = ino;
  meta::Json j;
  j["Errno"] = toErrno(tree.code());
  j["Tree"] = treeJson(tree ? *tree : empty, true);
  call.finishData(meta::jsonText(j, -1));
}

}  // namespace aquifer::vfs
