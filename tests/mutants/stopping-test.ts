import { mock } from 'node:test'

/*
 * Replaces `node:test` in the tests of a mutant: it runs tests in their order and ends with the
 * first one that fails. Each mutant has an instance of this module of its own, so that many mutants
 * share a process. It has what these tests import, and one that imports more does not load.
 */

/** The global that has the name of the test that runs. */
export const RUNNING = Symbol.for('bonded.mutants.running')

type Act = () => unknown

const tests: { readonly name: string; readonly act: Act; readonly skip: unknown }[] = []
const endings: Act[] = []
const endingsOfEach: Act[] = []

export { mock }

export function test(name: string, ...rest: readonly unknown[]): void {
  const act = rest.at(-1) as Act
  const skip = rest.length > 1 ? (rest[0] as { readonly skip?: unknown }).skip : undefined
  tests.push({ name, act, skip })
}

export function after(act: Act): void {
  endings.push(act)
}

export function afterEach(act: Act): void {
  endingsOfEach.push(act)
}

/** Runs the tests whose name begins so. Returns the name of the first one that fails. */
export async function firstFailure(begin: string): Promise<string | undefined> {
  const named = tests.filter(({ name, skip }) => !skip && name.startsWith(begin))
  if (named.length === 0) throw new Error(`no test begins with ${begin}`)
  try {
    for (const { name, act } of named) {
      Reflect.set(globalThis, RUNNING, name)
      try {
        await act()
        for (const end of endingsOfEach) await end()
      } catch {
        return name
      }
    }
  } finally {
    for (const end of endings) await end()
  }
  return undefined
}
