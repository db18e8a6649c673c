import assert from 'node:assert/strict'
import { type Harness, PUBLIC_ORIGIN, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { type Ran, runInThread } from '../../../../tests/harness/command-thread.ts'

/** Commands on the database of a service, each a line. They have the time of the machine. */
export function commandsOn({ folder }: Harness) {
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const env = {
    ...inherited,
    BONDED_ROOT_KEYS: `${ROOT_KEY.id}:${Buffer.from(ROOT_KEY.bytes).toString('base64url')}`,
    BONDED_PUBLIC_ORIGIN: PUBLIC_ORIGIN,
    BONDED_DATA_DIR: folder,
  }
  const run = (line: string): Ran => runInThread({ words: [...wordsOf(line), '--json'], env })
  const text = (line: string): string => {
    const { status, stdout, stderr } = run(line)
    assert.equal(status, 0, `${line}: ${stderr}`)
    return stdout
  }
  return {
    /** The exit code of a command. */
    status: (line: string) => run(line).status,
    /** What a command that must succeed prints. */
    text,
    // oxlint-disable-next-line typescript/no-explicit-any -- a test asserts the shape itself
    json: (line: string): any => JSON.parse(text(line)),
  }
}

/** The words of a line, in which quotation marks keep words together. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
}

/** Sets the time of a service. Commands have the time of the machine. */
export function setTime({ clock }: Harness, to: number): void {
  clock.set(to - clock.elapsed())
}
