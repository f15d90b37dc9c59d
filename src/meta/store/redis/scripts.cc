#include "meta/store/redis/scripts.h"

#include <openssl/evp.h>

#include "base/encode.h"

namespace aquifer::meta::redis {

namespace {

constexpr const char* kRead = R"lua(
local A, call, byte, floor = ARGV, redis.call, string.byte, math.floor
local function inode(e)
  local a, b, c, d, f, g, h, k = byte(e, 2, 9)
  if not k or #e ~= 9 then return nil end
  local hi = ((a * 256 + b) * 256 + c) * 256 + d
  if hi < 2097152 then
    return string.format('%.0f', hi * 4294967296 + ((f * 256 + g) * 256 + h) * 256 + k)
  end
  local x, y, z = 0, 0, 0
  for _, digit in ipairs({a, b, c, d, f, g, h, k}) do
    z = z * 256 + digit
    y = y * 256 + floor(z / 10000000)
    x = x * 256 + floor(y / 10000000)
    z = z % 10000000
    y = y % 10000000
  end
  return string.format('%d%07d%07d', x, y, z)
end
local out, n, i, last = {}, 0, 1, #A
while i <= last do
  local op = A[i]
  if op == 'E' then
    local e = call('HGET', A[i + 1], A[i + 2])
    local ino = e and inode(e)
    out[n + 1] = e
    out[n + 2] = ino and call('GET', 'i' .. ino) or false
    out[n + 3] = ino and call('EXISTS', 'x' .. ino) or 1
    out[n + 4] = ino and call('EXISTS', 'd' .. ino) or 1
    out[n + 5] = ino and call('EXISTS', 'p' .. ino) or 1
    n = n + 5
    i = i + 3
  elseif op == 'G' then
    local first = (tonumber(call('GET', 'txnLastLog') or 0) or 0) - call('LLEN', 'txnLog') + 1
    local from = math.max(A[i + 1] + 1, first)
    out[n + 1] = string.format('%.0f', from)
    out[n + 2] = call('LRANGE', 'txnLog', string.format('%.0f', from - first), string.format('%.0f', from - first + A[i + 2] - 1))
    n = n + 2
    i = i + 3
  else
    n = n + 1
    out[n] = call(unpack(A, i + 1, i + op))
    i = i + op + 1
  end
end
return out
)lua";

constexpr const char* kCommit = R"lua(
local A, call, byte, sub, floor = ARGV, redis.call, string.byte, string.sub, math.floor
local i = 2
local function logStart()
  return (tonumber(call('GET', 'txnLastLog') or 0) or 0) - call('LLEN', 'txnLog') + 1
end
for c = 1, A[1] do
  local op, key, good = A[i], A[i + 1], false
  if op == 'v' then
    good = call('GET', key) == A[i + 2]
    i = i + 3
  elseif op == 'a' then
    good = call('HEXISTS', key, A[i + 2]) == 0
    i = i + 3
  elseif op == 'h' then
    good = call('HGET', key, A[i + 2]) == A[i + 3]
    i = i + 4
  elseif op == 'm' then
    local v, k = call('GET', key), A[i + 2]
    i = i + 3
    good = v ~= false
    for _ = 1, k do
      good = good and sub(v, A[i], A[i + 1]) == A[i + 2]
      i = i + 3
    end
  elseif op == 'n' then
    good = call('EXISTS', key) == 0
    i = i + 2
  elseif op == 'l' then
    good = table.concat(call('LRANGE', key, 0, -1)) == A[i + 2]
    i = i + 3
  elseif op == 'H' then
    local k = A[i + 2]
    good = call('HLEN', key) == tonumber(k)
    i = i + 3
    for _ = 1, k do
      good = good and call('HGET', key, A[i]) == A[i + 1]
      i = i + 2
    end
  elseif op == 'L' then
    good = call('HLEN', key) == tonumber(A[i + 2])
    i = i + 3
  elseif op == 'z' then
    good = call('ZSCORE', key, A[i + 2]) == A[i + 3]
    i = i + 4
  elseif op == 'y' then
    good = not call('ZSCORE', key, A[i + 2])
    i = i + 3
  elseif op == 's' then
    good = call('SISMEMBER', key, A[i + 2]) == tonumber(A[i + 3])
    i = i + 4
  elseif op == 'M' then
    local k = A[i + 2]
    good = call('SCARD', key) == tonumber(k)
    i = i + 3
    for _ = 1, k do
      good = good and call('SISMEMBER', key, A[i]) == 1
      i = i + 1
    end
  elseif op == 'G' then
    good = logStart() == tonumber(key)
    i = i + 2
  end
  if not good then return {c} end
end

local out, n = {0}, 1
local writes = A[i]
i = i + 1
local function bits32(v, at)
  local a, b, c, d = byte(v, at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end
for _ = 1, writes do
  local op, key = A[i], A[i + 1]
  if op == 'N' then
    local v, nlink, touches = call('GET', key), tonumber(A[i + 2]), A[i + 3]
    i = i + 4
    local node = v and #v >= 63
    if node and nlink ~= 0 then
      local x = (bits32(v, 48) + nlink) % 4294967296
      call('SETRANGE', key, 47, string.char(floor(x / 16777216), floor(x / 65536) % 256, floor(x / 256) % 256, x % 256))
    end
    local sec, nsec
    if node then
      sec, nsec = bits32(v, 24), bits32(v, 32)
      if sec >= 2147483648 then sec = sec - 4294967296 end
      sec = sec * 4294967296 + bits32(v, 28)
    end
    for _ = 1, touches do
      if node and (A[i] - sec) * 1000000000 + (A[i + 1] - nsec) >= tonumber(A[i + 2]) then
        call('SETRANGE', key, 23, A[i + 3])
        sec, nsec = tonumber(A[i]), tonumber(A[i + 1])
      end
      i = i + 4
    end
  elseif op == 'D' then
    if call('HEXISTS', 'dirUsedSpace', key) == 1 then
      if A[i + 2] ~= '0' then call('HINCRBY', 'dirDataLength', key, A[i + 2]) end
      if A[i + 3] ~= '0' then call('HINCRBY', 'dirUsedSpace', key, A[i + 3]) end
      if A[i + 4] ~= '0' then call('HINCRBY', 'dirUsedInodes', key, A[i + 4]) end
    end
    i = i + 5
  elseif op == 'r' then
    local k = A[i + 1]
    n = n + 1
    out[n] = call(unpack(A, i + 2, i + 1 + k))
    i = i + 2 + k
  elseif op == 'Q' then
    local id = A[i + 2]
    if call('HEXISTS', key, id) == 1 then
      call('HINCRBY', key .. 'UsedSpace', id, A[i + 3])
      call('HINCRBY', key .. 'UsedInodes', id, A[i + 4])
    end
    i = i + 5
  elseif op == 'K' then
    local held = {}
    for _, owner in ipairs(call('HKEYS', key)) do
      local sid = string.match(owner, '^(%d+)_')
      if sid then held[sid] = true end
    end
    call('DEL', key)
    local k = A[i + 2]
    i = i + 3
    for _ = 1, k do
      call('HSET', key, A[i], A[i + 1])
      local sid = string.match(A[i], '^(%d+)_')
      call('SADD', 'locked' .. sid, key)
      held[sid] = nil
      i = i + 2
    end
    for sid in pairs(held) do call('SREM', 'locked' .. sid, key) end
  elseif op == 'T' then
    local first = logStart()
    if first == tonumber(key) then call('LTRIM', 'txnLog', string.format('%.0f', A[i + 2] - first + 1), -1) end
    i = i + 3
  else
    call(unpack(A, i + 1, i + op))
    i = i + op + 1
  end
end
return out
)lua";

Script make(const char* text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  Script script{text, {}};
  if (EVP_Digest(script.text.data(), script.text.size(), digest, &size, EVP_sha1(), nullptr) == 1)
    script.sha = hexEncode({reinterpret_cast<const char*>(digest), size});
  return script;
}

}  // namespace

const Script& readScript() {
  static const Script script = make(kRead);
  return script;
}

const Script& commitScript() {
  static const Script script = make(kCommit);
  return script;
}

}  // namespace aquifer::meta::redis
