#include "commands/get/member_watch.h"

#include <map>
#include <utility>

#include "core/proxy/client/watch_many.h"

namespace fleetadm::commands {
namespace {

class MemberWatch {
 public:
  MemberWatch(Context& context, const std::vector<std::string>& clusters, const MemberQuery& query, const MemberReader& reader,
              bool namespaces)
      : context_(context), query_(query), namespaces_(namespaces), columns_(member_columns(reader.rows)) {
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      const auto& error = reader.errors[i];
      if (error && error->category == Category::kNotFound) continue;
      Watched& one = watched_.emplace_back();
      one.cluster = clusters[i];
      one.shape = reader.rows[i];
      one.shape.forget_rows();
      if (!error) one.version = reader.rows[i].version();
      for (const MemberRows::Row& row : reader.rows[i].rows()) one.known[kube::object_key(row.object)] = row;
    }
  }

  void until_told(const kube::Client& gateway, const kube::Resource& usual) {
    proxy::WatchMany plan{*gateway.transport(), {}, context_.stop()};
    std::vector<std::string> versions;
    for (const Watched& one : watched_) {
      plan.clusters.push_back(one.cluster);
      versions.push_back(one.version);
    }
    proxy::watch_many(
        plan,
        [&](std::size_t which) {
          const kube::Resource& own = watched_[which].shape.resource();
          return member_request(query_, own.plural.empty() ? usual : own, "", "", false);
        },
        std::move(versions), [&](proxy::WatchNews news) { hear(watched_[news.which], std::move(news), usual); });
  }

 private:
  using Rows = std::map<std::string, MemberRows::Row>;
  struct Watched {
    std::string cluster;
    std::string version;
    MemberRows shape;  // the columns, without rows
    Rows known;
  };

  void hear(Watched& one, proxy::WatchNews news, const kube::Resource& usual) {
    if (news.kind == proxy::WatchNews::Kind::kEnded) {
      context_.progress().warn(one.cluster + ": " + (news.error ? news.error->message : "the watch ended"));
      return;
    }
    const bool relisted = news.kind == proxy::WatchNews::Kind::kRelisted;
    MemberRows rows = one.shape;
    const Json& document = relisted ? news.document : object_at(news.document, {"object"});
    const kube::Resource resource = rows.resource().plural.empty() ? usual : rows.resource();
    if (const Status added = rows.add(document, resource, context_.clock().now()); !added) {
      context_.progress().warn(one.cluster + ": " + added.error().message);
      return;
    }
    if (one.shape.columns().empty()) {
      one.shape = rows;
      one.shape.forget_rows();
    }
    const bool deleted = !relisted && str(news.document, {"type"}) == "DELETED";
    Rows there;
    for (const MemberRows::Row& row : rows.rows()) {
      there[kube::object_key(row.object)] = row;
      changed(one, row, deleted);
    }
    if (!relisted) return;
    const Rows before = one.known;
    for (const auto& [key, row] : before)
      if (!there.contains(key)) changed(one, row, true);
  }

  void changed(Watched& one, const MemberRows::Row& row, bool deleted) {
    const std::string key = kube::object_key(row.object);
    const auto at = one.known.find(key);
    if (deleted) {
      if (at != one.known.end()) one.known.erase(at);
      return show(one, row, Report::Event::kDeleted);
    }
    const bool known = at != one.known.end();
    if (known && resource_version_of(at->second.object) == resource_version_of(row.object)) return;
    one.known[key] = row;
    show(one, row, known ? Report::Event::kModified : Report::Event::kAdded);
  }

  void show(const Watched& one, const MemberRows::Row& row, Report::Event event) {
    MemberRows single = one.shape;
    single.add_row(row);
    Report report = member_report({one.cluster}, {single}, context_.global().list, namespaces_, query_.objects,
                                  columns_.empty() ? single.columns() : columns_);
    report.event = event;
    context_.emit(report);
  }

  Context& context_;
  const MemberQuery& query_;
  const bool namespaces_;
  const std::vector<Column> columns_;  // of the table that was printed first
  std::vector<Watched> watched_;
};

}  // namespace

void watch_members(Context& context, const kube::Client& gateway, const std::vector<std::string>& clusters,
                   const MemberQuery& query, const MemberReader& reader, bool namespaces) {
  MemberWatch(context, clusters, query, reader, namespaces).until_told(gateway, reader.resource());
}

}  // namespace fleetadm::commands
