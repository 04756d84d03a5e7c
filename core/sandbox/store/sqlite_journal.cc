#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/sandbox/store/journal.h"

namespace fleetadm::sandbox {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

tl::unexpected<Error> failure(sqlite3* database, const std::string& what) {
  const int code = sqlite3_errcode(database);
  const bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
  return fail(busy ? Category::kConflict : Category::kInternal, what + ": " + sqlite3_errmsg(database));
}

void bind(sqlite3_stmt* statement, int index, const std::string& text) {
  // The text outlives the step: rows are the caller's until commit() answers.
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

std::string column(sqlite3_stmt* statement, int index) {
  const auto* data = sqlite3_column_blob(statement, index);
  const int size = sqlite3_column_bytes(statement, index);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

class SqliteJournal final : public Journal {
 public:
  explicit SqliteJournal(Database database) : database_(std::move(database)) {}

  Status prepare() {
    // NORMAL: what was committed survives the process's death (WAL); only a power cut may take the last moments.
    FLEETADM_CHECK(
        run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA secure_delete=OFF; PRAGMA cache_size=-4096; PRAGMA wal_autocheckpoint=2000;"
            "CREATE TABLE IF NOT EXISTS objects(resource TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL, "
            "revision INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(resource, ns, name)) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS counter(id INTEGER PRIMARY KEY CHECK(id = 1), revision INTEGER NOT NULL);"
            "INSERT OR IGNORE INTO counter VALUES(1, 0);"));
    FLEETADM_CHECK(compile("INSERT OR REPLACE INTO objects VALUES(?1, ?2, ?3, ?4, ?5)", put_));
    FLEETADM_CHECK(compile("DELETE FROM objects WHERE resource = ?1 AND ns = ?2 AND name = ?3", remove_));
    FLEETADM_CHECK(compile("UPDATE counter SET revision = ?1 WHERE id = 1", count_));
    FLEETADM_CHECK(compile("BEGIN IMMEDIATE", begin_));
    return compile("COMMIT", commit_);
  }

  Result<std::int64_t> load(const std::function<void(JournalRow)>& each) override {
    Statement read;
    FLEETADM_CHECK(compile("SELECT resource, ns, name, revision, body FROM objects", read));
    int code = SQLITE_OK;
    std::int64_t last = 0;
    while ((code = sqlite3_step(read.get())) == SQLITE_ROW) {
      JournalRow row;
      row.resource = column(read.get(), 0);
      row.ns = column(read.get(), 1);
      row.name = column(read.get(), 2);
      row.revision = sqlite3_column_int64(read.get(), 3);
      row.body = column(read.get(), 4);
      last = std::max(last, row.revision);
      each(std::move(row));
    }
    if (code != SQLITE_DONE) return failure(database_.get(), "reading the cluster's file");
    FLEETADM_CHECK(compile("SELECT revision FROM counter", read));
    if (sqlite3_step(read.get()) != SQLITE_ROW) return failure(database_.get(), "reading the cluster's revision");
    return std::max(last, std::int64_t{sqlite3_column_int64(read.get(), 0)});
  }

  Status commit(const std::vector<JournalRow>& rows) override {
    if (rows.empty()) return {};
    FLEETADM_CHECK(step(begin_.get()));
    auto written = write(rows);
    if (written) written = step(commit_.get());
    if (!written && sqlite3_get_autocommit(database_.get()) == 0)
      sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return written;
  }

 private:
  Status write(const std::vector<JournalRow>& rows) {
    for (const auto& row : rows) {
      auto* statement = row.removed ? remove_.get() : put_.get();
      bind(statement, 1, row.resource);
      bind(statement, 2, row.ns);
      bind(statement, 3, row.name);
      if (!row.removed) {
        sqlite3_bind_int64(statement, 4, row.revision);
        sqlite3_bind_blob(statement, 5, row.body.data(), static_cast<int>(row.body.size()), SQLITE_STATIC);
      }
      FLEETADM_CHECK(step(statement));
    }
    // The last revision stands in the row that has it, where there is one: most commits change one page less.
    if (!rows.back().removed) return {};
    sqlite3_bind_int64(count_.get(), 1, rows.back().revision);
    return step(count_.get());
  }

  Status step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    auto result = code == SQLITE_DONE ? Status{} : Status(failure(database_.get(), "writing the cluster's file"));
    sqlite3_reset(statement);
    return result;
  }

  Status run(const char* sql) {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return failure(database_.get(), "preparing the cluster's file");
  }

  Status compile(const char* sql, Statement& into) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr);
    into.reset(statement);
    if (code != SQLITE_OK) return failure(database_.get(), "preparing the cluster's file");
    return {};
  }

  Database database_;
  Statement put_;
  Statement remove_;
  Statement count_;
  Statement begin_;
  Statement commit_;
};

}  // namespace

Result<std::unique_ptr<Journal>> open_sqlite_journal(const std::string& file) {
  // SQLite would make the file with the process's umask: it holds Secrets.
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail(Category::kInternal, "cannot open " + file);
  ::close(descriptor);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return fail(Category::kInternal, "cannot open " + file);
  auto journal = std::make_unique<SqliteJournal>(std::move(database));
  if (auto ready = journal->prepare(); !ready) return tl::unexpected(ready.error().wrap(file));
  return journal;
}

}  // namespace fleetadm::sandbox
