import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { serve } from '@bonded/cli/node/serve'
import { StartedParts } from '@bonded/cli/node/started-parts'
import { createTenant } from '@bonded/core/operations/admin/tenants'
import { readConfig } from '@bonded/server/settings/config'
import { loadTestAuthority } from '@bonded/simulator'
import pino from 'pino'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import { freePorts } from '../../../tests/npm-start.ts'
import { SandboxClock, storeClock } from '../src/clock/sandbox-clock.ts'
import { phoneAt } from '../src/phone/phone.ts'
import { Stage } from '../src/trigger/stage.ts'

const DAY_MS = 86_400_000

const parts = new StartedParts()
after(() => parts[Symbol.asyncDispose]())
const folder = mkdtempSync(join(tmpdir(), 'bonded-phone-time-'))
parts.defer(() => rmSync(folder, { recursive: true, force: true }))
loadTestAuthority(folder)
const [port] = await freePorts()
const settings = { BONDED_DATA_DIR: folder, BONDED_PORT: String(port) }
const clock = new SandboxClock()
const options = { script: NO_SCRIPT, clock }
const { service } = parts.use(await serve(readConfig(settings), pino({ enabled: false }), options))
Object.assign(process.env, settings)

test('a phone that causes events has an attested key where the service trusts the test roots', async () => {
  const { serverCredential } = await createTenant(service, {
    name: 'Shop',
    environment: 'sandbox',
    origins: [],
    workflows: [{ name: 'pay', actions: ['send'] }],
    demo: false,
    allowSimilarName: false,
  })
  for (const [authorityFolder, expected] of [
    [folder, 'apple-app-attest'],
    [undefined, 'software'],
  ] as const) {
    using stage = await Stage.open({
      service,
      origin: `http://localhost:${port}`,
      credential: serverCredential.reveal(),
      authorityFolder,
      pause: async () => {},
    })
    assert.equal((await stage.phone().register()).format, expected)
  }
})

test('the phone registers with a service whose clock is behind that of its folder', async () => {
  storeClock(folder, 7 * DAY_MS)
  const { format } = await phoneAt({ folder: join(folder, 'behind') }).register()
  assert.equal(format, 'apple-app-attest')
})

test('the phone registers with a service whose clock is ahead of that of its folder', async () => {
  storeClock(folder, 0)
  clock.advance(30 * DAY_MS)
  const { format } = await phoneAt({ folder: join(folder, 'ahead') }).register()
  assert.equal(format, 'apple-app-attest')
})
