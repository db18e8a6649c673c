import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createSimulatedPhone, inboxLink } from '@bonded/simulator'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'

/** What a trial prints when the phone has a page to open, and when a request waits for it. */
export const OPENED = /Open the phone in a browser: (http:\/\/localhost:\d+)\/phone/
export const ASKED =
  /(?:Approve in the inbox of the phone|The tool waits for an approval): \S+\/inbox/

/** A phone in place of the browser that `bonded try` asks for. */
export function trialPhone(origin: string) {
  const phone = createSimulatedPhone({ origin })
  return {
    origin,
    /** Answers the first request, whose link the address of the phone leads to. */
    setUp: async (answer: 'approve' | 'decline' = 'approve') => {
      const { status, headers } = await fetch(`${origin}/phone`, { redirect: 'manual' })
      assert.equal(status, 302)
      const link = headers.get('location') ?? ''
      assert.match(link, /\/bond\?session_id=/)
      return phone.run(link, answer)
    },
    /** Answers the request in the inbox. Resolves to what the phone showed. */
    answer: async (answer: 'approve' | 'decline') => {
      const { headers } = await fetch(`${origin}/phone`, { redirect: 'manual' })
      assert.equal(headers.get('location'), '/inbox')
      const { items } = await (await phone.inbox()).open()
      const [item, ...others] = items
      assert.ok(item !== undefined && others.length === 0, 'one request is in the inbox')
      return (await phone.run(inboxLink(item), answer)).shown
    },
  }
}

/** `bonded try` in a folder of its own, where it has its temporary files too. */
export async function startTrial(
  t: TestContext,
  command: readonly string[],
  { env = {}, cwd }: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bonded-trial-')))
  t.after(() => rmSync(folder, { recursive: true }))
  const [program = '', ...words] = command
  const child = spawn(program, words, {
    cwd: cwd ?? folder,
    env: {
      PATH: process.env['PATH'],
      TMPDIR: folder,
      BONDED_PORT: String(await freePort()),
      // What a shell of an operator has.
      BONDED_ENVIRONMENT: 'production',
      BONDED_DATABASE_URL: 'postgres://127.0.0.1:9/none',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'close')
  const printed = { stdout: '', stderr: '' }
  let notice = () => {}
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk) => {
      printed[name] += String(chunk)
      notice()
    })
  /** Waits for a text, and fails if the command ends without it. */
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      notice = () => {
        const found = pattern.exec(printed.stderr)
        if (found !== null) resolve(found)
      }
      notice()
      void ended.then(() => reject(new Error(`${pattern} is missing in: ${printed.stderr}`)))
    })
  return {
    folder,
    child,
    printed,
    ended: ended as Promise<[number | null, string | null]>,
    says,
    phone: async () => {
      const [, origin = ''] = await says(OPENED)
      return trialPhone(origin)
    },
  }
}
