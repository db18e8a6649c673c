"""Answers calls of stores, a JSON line for each: the suite of TypeScript runs over them."""
import concurrent.futures
import dataclasses
import json
import sys
import threading

from bonded import stores

KINDS = {
    "memory": stores.MemoryApprovalStore,
    "sqlite": stores.SqliteApprovalStore,
    "postgres": stores.PostgresApprovalStore,
}
opened = []
output = threading.Lock()


def answer(call):
    try:
        reply = {"result": run(call["method"], call["store"], call["arguments"])}
    except Exception as error:
        reply = {"error": f"{type(error).__name__}: {error}"}
    with output:
        print(json.dumps({**reply, "id": call["id"]}), flush=True)


def run(method, number, arguments):
    if method == "open":
        kind, *arguments = arguments
        opened.append(KINDS[kind](*arguments))
        return len(opened) - 1
    if method == "put":
        arguments = [stores.StoredApproval(**arguments[0])]
    result = getattr(opened[number], method)(*arguments)
    if isinstance(result, list):
        return [dataclasses.asdict(row) for row in result]
    return dataclasses.asdict(result) if dataclasses.is_dataclass(result) else result


with concurrent.futures.ThreadPoolExecutor(64) as pool:
    for line in sys.stdin:
        pool.submit(answer, json.loads(line))
