import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { testBonded } from '../src/testing/testing.ts'

process.env['BONDED_TEST_DOUBLE'] = 'on'

/** A server credential with its checksum. */
export const CREDENTIAL = testBonded({ state: 'bonded' }).service.serverCredential

/**
 * An expression of the Python client over `v` for each value, in one process. An error is its name,
 * in brackets, and with `says` also its text and the name of its cause.
 */
export function python(
  expression: string,
  values: readonly unknown[],
  { says = false } = {},
): unknown[] {
  const program = `
import io, json, sys, bonded
def run(v):
    try:
        return ${expression}
    except Exception as error:
        return [type(error).__name__${says ? ', str(error), type(error.__cause__).__name__' : ''}]
print(json.dumps([run(v) for v in json.load(sys.stdin)]))
`
  const printed = execFileSync('python3', ['-B', '-c', program], {
    cwd: resolve(import.meta.dirname, '../../../examples/django'),
    input: JSON.stringify(values),
    encoding: 'utf8',
    stdio: 'pipe',
  })
  return JSON.parse(printed) as unknown[]
}
