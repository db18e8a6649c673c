"""The storage of approvals. Every store passes the suite in `tests/store_suite.py`."""
from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import threading
from typing import Any, Callable, Protocol, Sequence

from .errors import BondedError

# The table, on PostgreSQL and SQLite, and that of the library of TypeScript. `SqliteApprovalStore`
# creates it; run it with your own migrations on PostgreSQL. Let only the backend's role read it.
APPROVAL_TABLE = """create table if not exists approval (
  id text primary key, data text not null, state text not null,
  changed_at bigint not null, expires_at bigint not null, lookup text);
create index if not exists approval_lookup on approval (lookup, expires_at)"""

_COLUMNS = "id, data, lookup, state, changed_at, expires_at"
# The states that `reconcile` looks at. A store never removes a row in one of them.
_OPEN = "('running', 'unknown', 'done')"
_PUT = f"insert into approval ({_COLUMNS}) values (?, ?, ?, ?, ?, ?) on conflict do nothing"
_FIND = f"select {_COLUMNS} from approval where id = ?"
_EQUAL = f"select {_COLUMNS} from approval where lookup = ? order by expires_at desc"
_MOVE = "update approval set state = ?, changed_at = ? where id = ? and state = ?"
_LIST = f"select {_COLUMNS} from approval where state in {_OPEN} order by changed_at"
_REMOVE = f"delete from approval where state not in {_OPEN} and id = ?"
_REMOVE_EXPIRED = f"delete from approval where state not in {_OPEN} and expires_at < ?"


@dataclasses.dataclass(frozen=True)
class StoredApproval:
    """A request as a store has it. Times are in milliseconds since the epoch."""

    id: str
    # What never changes, as JSON. It contains a secret of the session.
    data: str = dataclasses.field(repr=False)
    # A digest of the user, the action, and its arguments. Other requests can have the same one.
    lookup: str
    state: str
    # When the state changed, or the lease of a running action was renewed.
    changed_at: int
    expires_at: int

    @property
    def members(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.data)
        return parsed


class ApprovalStore(Protocol):
    """An approval runs at most once because `move` changes a row at most once, durably.

    Threads may call every method at once.
    """

    def put(self, row: StoredApproval) -> None:
        """Durable when it returns. Putting the same id again changes nothing."""

    def find(self, id: str) -> StoredApproval | None:
        """The committed row. Read where you write: a replica can be late."""

    def with_lookup(self, lookup: str) -> Sequence[StoredApproval]:
        """The committed rows with this lookup. The one that expires last comes first."""

    def move(self, id: str, before: str, after: str, at: int) -> bool:
        """Changes the state of a row that is in `before`, in a transaction of its own.

        Exactly one of any number of concurrent calls gets True, unless `after` is `before`, which
        renews a lease. When it returns, the change survives a crash.
        """

    def unfinished(self) -> Sequence[StoredApproval]:
        """The rows that are `running`, `unknown`, or `done`."""

    def remove(self, id: str) -> None:
        """Deletes the row, but no unfinished one."""

    def remove_expired(self, before: int) -> int:
        """Deletes the rows that expired before this time, but no unfinished one. Returns how many."""


class _SqlApprovalStore:
    """A connection of its own, in which each statement is a transaction of its own.

    On a connection of your framework, the end of a transaction of yours would decide whether
    `running` is stored: its rollback would let the action run twice. Even with a connection apart,
    the action that `execute` runs must be durable when it returns, so `in_transaction` says whether
    the caller has a transaction open. A write is then refused, and nothing runs.
    """

    def __init__(
        self, where: str | os.PathLike[str], *, in_transaction: Callable[[], bool] | None = None
    ) -> None:
        self._where, self._in_transaction = where, in_transaction
        self._lock = threading.Lock()
        self._connection: Any = None
        self._process = 0

    def _open(self) -> Any:
        raise NotImplementedError

    def _run(self, sql: str, values: Sequence[object]) -> tuple[list[Any], int]:
        """The rows and the number of rows of one statement."""
        with self._lock:
            # A connection does not work in a child process, nor after the end of its server.
            if self._process != os.getpid() or self._is_closed():
                self._connection, self._process = self._open(), os.getpid()
            return self._execute(sql, values)

    def _is_closed(self) -> bool:
        return False

    def _execute(self, sql: str, values: Sequence[object]) -> tuple[list[Any], int]:
        raise NotImplementedError

    def _write(self, sql: str, values: Sequence[object]) -> int:
        if self._in_transaction is not None and self._in_transaction():
            raise BondedError(
                "invalid_request",
                "A transaction of the caller is open. Its rollback would undo an action that counts"
                " as done. Call this outside of it.",
            )
        return self._run(sql, values)[1]

    def _read(self, sql: str, values: Sequence[object]) -> list[StoredApproval]:
        return [StoredApproval(*row) for row in self._run(sql, values)[0]]

    def close(self) -> None:
        with self._lock:
            if self._process == os.getpid():
                self._connection.close()
            self._process = 0

    def put(self, row: StoredApproval) -> None:
        self._write(_PUT, dataclasses.astuple(row))

    def find(self, id: str) -> StoredApproval | None:
        return next(iter(self._read(_FIND, (id,))), None)

    def with_lookup(self, lookup: str) -> Sequence[StoredApproval]:
        return self._read(_EQUAL, (lookup,))

    def move(self, id: str, before: str, after: str, at: int) -> bool:
        return self._write(_MOVE, (after, at, id, before)) == 1

    def unfinished(self) -> Sequence[StoredApproval]:
        return self._read(_LIST, ())

    def remove(self, id: str) -> None:
        self._write(_REMOVE, (id,))

    def remove_expired(self, before: int) -> int:
        return self._write(_REMOVE_EXPIRED, (before,))


class SqliteApprovalStore(_SqlApprovalStore):
    """A store in a SQLite file, with `sqlite3` and a connection of its own.

    Pass `in_transaction` where your framework opens transactions, such as
    `lambda: connection.in_atomic_block` of Django. Use a file of its own, or end your transaction
    first: SQLite has one writer, so a write would wait for yours, and fail.
    """

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._where, timeout=5, isolation_level=None, check_same_thread=False)
        # A commit waits for the disk.
        db.execute("pragma synchronous = full")
        for statement in APPROVAL_TABLE.split(";"):
            db.execute(statement)
        return db

    def _execute(self, sql: str, values: Sequence[object]) -> tuple[list[Any], int]:
        cursor = self._connection.execute(sql, values)
        return cursor.fetchall(), cursor.rowcount


class MemoryApprovalStore(SqliteApprovalStore):
    """A store in the memory of one process, for tests and demos. A restart deletes all rows."""

    def __init__(self) -> None:
        super().__init__(":memory:")


class PostgresApprovalStore(_SqlApprovalStore):
    """A store on PostgreSQL, with psycopg 3 and a connection of its own.

    Create `APPROVAL_TABLE` first. Pass `in_transaction` where your framework opens transactions,
    such as `lambda: connection.in_atomic_block` of Django.
    """

    def _open(self) -> Any:
        import psycopg

        connection = psycopg.connect(str(self._where), autocommit=True)
        row = connection.execute("show synchronous_commit").fetchone()
        if row is None or row[0] == "off":
            connection.close()
            raise BondedError(
                "invalid_configuration",
                "A crash could undo that an action runs, and it would run twice: set"
                " synchronous_commit of the role or the database to `local` or `on`.",
            )
        # A statement that loses against another one must find its row changed, not fail.
        connection.execute("set default_transaction_isolation = 'read committed'")
        return connection

    def _is_closed(self) -> bool:
        return bool(self._connection.closed)

    def _execute(self, sql: str, values: Sequence[object]) -> tuple[list[Any], int]:
        cursor = self._connection.execute(sql.replace("?", "%s"), values)
        return (cursor.fetchall() if cursor.description else []), cursor.rowcount
