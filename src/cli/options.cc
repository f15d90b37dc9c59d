#include "cli/options.h"

#include <algorithm>

#include "base/log.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

std::string_view stripDashes(std::string_view word) {
  auto at = word.find_first_not_of('-');
  return at == std::string_view::npos ? std::string_view() : word.substr(at);
}

Status badValue(std::string_view value, std::string_view name, std::string_view reason) {
  return {Code::invalid, fmt::format("invalid value {} for flag -{}: {}", quoted(value), name, reason)};
}

std::string_view reasonOf(NumberError e) { return e == NumberError::range ? "value out of range" : "parse error"; }

// Is `value` one that the option's type accepts? `name` as it was typed.
Status checkValue(const Option& option, std::string_view name, const std::string& value) {
  int64_t i;
  uint64_t u;
  double d;
  bool b;
  NumberError e = NumberError::none;
  switch (option.type) {
    case OptionType::flag:
      if (!parseBoolean(value, &b))
        return {Code::invalid, fmt::format("invalid boolean value {} for -{}: parse error", quoted(value), name)};
      return {};
    case OptionType::integer: e = parseInteger(value, &i); break;
    case OptionType::uinteger: e = parseUnsigned(value, &u); break;
    case OptionType::real: e = parseReal(value, &d); break;
    case OptionType::unitDuration: e = parseUnitDuration(value) ? NumberError::none : NumberError::syntax; break;
    case OptionType::text:
    case OptionType::list: break;
  }
  if (e != NumberError::none) return badValue(value, name, reasonOf(e));
  return {};
}

}  // namespace

std::vector<std::string> Option::nameList() const {
  std::vector<std::string> out;
  size_t from = 0;
  while (from <= names.size()) {
    auto comma = names.find(',', from);
    if (comma == std::string::npos) comma = names.size();
    out.push_back(names.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

const Option* findOption(const std::vector<OptionGroup>& groups, std::string_view word, bool* takesNext) {
  if (word.empty() || word[0] != '-') return nullptr;
  auto bare = stripDashes(word);
  auto eq = bare.find('=');
  auto name = bare.substr(0, eq);
  if (name.empty()) return nullptr;
  for (auto& group : groups)
    for (auto& option : group.options)
      for (auto& candidate : option.nameList())
        if (candidate == name) {
          *takesNext = option.type != OptionType::flag && eq == std::string_view::npos;
          return &option;
        }
  return nullptr;
}

Status parseOptions(const std::vector<OptionGroup>& groups, const std::vector<std::string>& words, Args* args) {
  args->groups_ = groups;
  args->slots_.clear();
  args->index_.clear();
  for (auto& group : args->groups_)
    for (auto& option : group.options) {
      for (auto& name : option.nameList()) args->index_[name] = args->slots_.size();
      args->slots_.push_back({&option, {}});
    }
  for (size_t i = 0; i < words.size(); ++i) {
    bool takesNext = false;
    if (!findOption(args->groups_, words[i], &takesNext)) {
      args->positional_.push_back(words[i]);
      continue;
    }
    auto bare = stripDashes(words[i]);
    auto eq = bare.find('=');
    std::string name(bare.substr(0, eq)), value;
    auto& slot = args->slots_[args->index_[name]];
    if (eq != std::string_view::npos) value = bare.substr(eq + 1);
    else if (!takesNext) value = "true";
    else if (++i < words.size()) value = words[i];
    else if (!args->positional_.empty()) value = args->positional_.front(), args->dropFirstPositional();  // options go before positionals
    else return {Code::invalid, "flag needs an argument: -" + name};
    TRY(checkValue(*slot.option, name, value));
    if (slot.option->type != OptionType::list) slot.values.clear();
    slot.values.push_back(std::move(value));
  }
  return {};
}

const Args::Slot* Args::slot(std::string_view name) const {
  auto it = index_.find(name);
  return it == index_.end() ? nullptr : &slots_[it->second];
}
std::string Args::value(std::string_view name) const {
  auto* s = slot(name);
  if (!s) return {};
  return s->values.empty() ? s->option->dflt : s->values.back();
}
bool Args::has(std::string_view name) const { return slot(name) != nullptr; }
bool Args::isSet(std::string_view name) const {
  auto* s = slot(name);
  return s && !s->values.empty();
}
bool Args::flag(std::string_view name) const {
  bool b = false;
  return parseBoolean(value(name), &b) && b;
}
int64_t Args::integer(std::string_view name) const {
  int64_t i = 0;
  auto v = value(name);
  return !v.empty() && parseInteger(v, &i) == NumberError::none ? i : 0;
}
uint64_t Args::uinteger(std::string_view name) const {
  uint64_t u = 0;
  auto v = value(name);
  return !v.empty() && parseUnsigned(v, &u) == NumberError::none ? u : 0;
}
double Args::real(std::string_view name) const {
  double d = 0;
  auto v = value(name);
  return !v.empty() && parseReal(v, &d) == NumberError::none ? d : 0;
}
std::string Args::text(std::string_view name) const { return value(name); }
std::vector<std::string> Args::list(std::string_view name) const {
  auto* s = slot(name);
  return s ? s->values : std::vector<std::string>();
}

uint64_t Args::size(std::string_view name, char unit) const {
  auto r = parseSize(value(name), unit, name);
  if (!r) LOG_FATAL("{}", r.status().text());
  return *r;
}
int64_t Args::durationNanos(std::string_view name) const {
  auto v = value(name);
  auto* s = slot(name);
  auto r = s && s->option->type == OptionType::unitDuration ? parseUnitDuration(v) : parseDuration(v);
  if (r) return *r;
  LOG_WARN("Invalid duration value: {}, setting it to 0", v);
  return 0;
}
int64_t Args::rateMbps(std::string_view name) const {
  auto r = parseRate(value(name), name);
  if (!r) LOG_FATAL("{}", r.status().text());
  return *r;
}

std::vector<std::string> Args::given() const {
  std::vector<std::string> out;
  for (auto& s : slots_) {
    if (s.values.empty()) continue;
    if (s.option->type == OptionType::flag) {
      bool on = false;
      parseBoolean(s.values.back(), &on);
      out.push_back(on ? s.option->key() : s.option->key() + "=false");
    } else {
      for (auto& v : s.values) out.push_back(s.option->key() + "=" + v);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void Args::dropFirstPositional() {
  if (!positional_.empty()) positional_.erase(positional_.begin());
}

}  // namespace aquifer::cli
