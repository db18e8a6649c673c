import type { Service } from '../../src/operations/service.ts'
import type { Work } from '../../src/ports/work.ts'
import { CREATED_AT } from '../records.ts'

type Method = (...given: never[]) => unknown

/** Tables as a test gives them: each method returns its value at once. */
export type StubTables = Readonly<Record<string, Method | Readonly<Record<string, unknown>>>>

/**
 * A service over tables that answer as a test says, for operations whose result is a text or a
 * number. A unit that uses another table, or another method, throws.
 */
export function serviceOver(stub: StubTables, parts: object = {}): Service {
  const tables: Record<string, unknown> = { mayWrite: true }
  for (const [name, table] of Object.entries(stub))
    tables[name] =
      typeof table === 'function'
        ? asWork(table)
        : Object.fromEntries(
            Object.entries(table).map(([method, value]) => [
              method,
              typeof value === 'function' ? asWork(value as Method) : value,
            ]),
          )
  // oxlint-disable-next-line require-yield -- there is no database to wait for
  tables.concerns ??= function* concerns(): Work<void> {}
  const run = async (unit: (given: unknown) => Work<unknown>) => {
    const step = unit(tables).next()
    if (step.done !== true) throw new TypeError('the unit waits for a store')
    return step.value
  }
  const service = {
    store: { read: run, write: run, newSessionId: () => 'sess_new' },
    clock: { now: () => CREATED_AT },
    settings: { publicOrigin: 'https://bond.example', rpId: 'bond.example' },
    ...parts,
  }
  return service as unknown as Service
}

function asWork(method: Method) {
  // oxlint-disable-next-line require-yield -- there is no database to wait for
  return function* work(...given: never[]): Work<unknown> {
    return method(...given)
  }
}

/** The message and the code of the operator's error, or what the operation returns. */
export async function outcomeOf(operation: () => unknown): Promise<unknown> {
  try {
    return await operation()
  } catch (failure) {
    if (failure instanceof Error && 'code' in failure)
      return `${String(failure.code)}: ${failure.message}`
    throw failure
  }
}
