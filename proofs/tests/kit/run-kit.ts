import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

const KIT = resolve(import.meta.dirname, '../../kit')

/** Runs the kit as a stranger does. */
export async function runKit(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const running = promisify(execFile)(process.execPath, [KIT, ...args], {
    env: { ...inherited, ...env },
  })
  const ended = await running.then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  )
  return ended
}

/** The report of a target that keeps every rule, and how many there are. */
export function keptBy({
  code,
  stdout,
}: {
  readonly code: number
  readonly stdout: string
}): number {
  const [, kept, all] = /^(\d+) of (\d+)\n$/.exec(stdout) ?? []
  assert.equal(kept, all, stdout)
  assert.equal(code, 0, stdout)
  return Number(all)
}
