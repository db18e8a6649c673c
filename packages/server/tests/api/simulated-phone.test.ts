import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeId } from '@bonded/contract'
import {
  createSimulatedPhone,
  type Outcome,
  PHONE_FORMATS,
  type PhoneFormat,
  loadTestAuthority,
  findTestRoots,
} from '@bonded/simulator'
import { loadPhonePage } from '@bonded/phone-page/files'
import pino from 'pino'
import { systemClock } from '../../../store/src/clock/system-clock.ts'
import { createAttestation } from '../../src/adapters/attestation/attestation.ts'
import { readConfig } from '../../src/settings/config.ts'
import { createTenant } from '../../../core/src/operations/admin/tenants.ts'
import { NO_APP_LINKS } from '../../../core/src/operations/service.ts'
import { startService, composeService } from '../../src/compose.ts'
import { MANY_CONNECTIONS } from '../../../../tests/harness/many-connections.ts'
import { NO_SCRIPT } from '../../../../tests/harness/no-script.ts'

/**
 * A service that trusts the test roots in its data folder, and the phone that keeps its keys there.
 */
async function besideEachOther(environment: 'sandbox' | 'production') {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-beside-'))
  loadTestAuthority(folder)
  const { phones } = readConfig({ BONDED_TEST_ROOTS: findTestRoots(folder) })
  const probe = await import('node:net').then(({ createServer }) =>
    createServer().listen(0, '127.0.0.1'),
  )
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  const origin = `http://localhost:${port}`
  const service = composeService({
    databaseFile: join(folder, 'bonded.db'),
    rootKeys: [{ id: 'k1', bytes: new Uint8Array(32) }],
    settings: {
      publicOrigin: origin,
      rpId: new URL(origin).hostname,
      appScheme: 'pulse',
      qrContent: 'app_scheme',
      appLinks: NO_APP_LINKS,
      version: '0.0.0',
      limits: 'off',
      trustedProxies: 0,
      connections: MANY_CONNECTIONS,
      deviceTokenTtlMs: 180 * 24 * 60 * 60_000,
    },
    clock: systemClock,
    attestation: createAttestation(phones, {
      origin,
      clock: systemClock,
      fetch: () => Promise.reject(new Error('no network in tests')),
    }),
  })
  const running = await startService(service, {
    host: '127.0.0.1',
    port,
    log: pino({ level: 'silent' }),
    script: NO_SCRIPT,
    phonePage: loadPhonePage,
  })
  const workflows = [{ name: 'w', actions: ['a'], require: ['local_auth' as const] }]
  const { serverCredential } = await createTenant(service, {
    name: 'Shop',
    environment,
    origins: [],
    workflows,
    demo: false,
  })
  return {
    folder,
    /** A phone of its own, whose keys end with the test. */
    newPhone: (format: PhoneFormat) =>
      createSimulatedPhone({ origin, authorityFolder: folder, format }).library(),
    async play(outcome: Outcome, format?: PhoneFormat) {
      const headers = {
        authorization: `Bearer ${serverCredential.reveal()}`,
        'idempotency-key': makeId('req', service.random.id()),
      }
      const created = await fetch(`${origin}/api/v1/sessions`, { method: 'POST', headers })
      const { qr_payload } = (await created.json()) as { qr_payload: string }
      const phone = createSimulatedPhone({
        origin,
        stateFile: join(folder, 'phone.json'),
        authorityFolder: folder,
        format,
        formatOfNewKeys: 'apple-app-attest',
      })
      const { device_id, format: registered } = await phone.register()
      return { device_id, format: registered, result: await phone.run(qr_payload, outcome) }
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}

for (const format of PHONE_FORMATS) {
  test(`${format}: the simulated phone registers, approves, answers a step-up, and every attack of it is rejected`, async () => {
    await using beside = await besideEachOther('sandbox')
    const first = await beside.play('approve', format)
    assert.deepEqual(
      [first.format, first.result.state],
      [format, 'bonded'],
      JSON.stringify(first.result),
    )
    const stepped = await beside.play('step-up')
    assert.deepEqual(
      [stepped.device_id, stepped.format, stepped.result.state],
      [first.device_id, format, 'bonded'],
    )
    for (const outcome of ['stale-counter', 'other-device'] as const) {
      assert.ok((await beside.play(outcome)).result.rejection !== undefined, outcome)
    }
    const replayed = await beside.play('replay')
    assert.deepEqual(replayed.result.steps.at(-1), {
      step: 'replayed',
      status: 200,
      state: 'bonded',
    })
  })
}

test('simulated phones of every format add, list and remove each other’s keys', async () => {
  await using beside = await besideEachOther('sandbox')
  for (const format of PHONE_FORMATS) {
    const first = await beside.newPhone(format)
    const { device_id, subject_id } = await first.register()
    for (const added of PHONE_FORMATS) {
      const second = await beside.newPhone(added)
      const device = await second.acceptKey(await first.addKey(await second.proposeKey()))
      assert.equal(device.subject_id, subject_id)
      const keys = await second.listKeys()
      assert.deepEqual(
        Object.fromEntries(keys.map(({ device_id: id, format: of, own }) => [id, [of, own]])),
        { [device_id]: [format, false], [device.device_id]: [added, true] },
      )
      await first.removeKey(device.device_id)
      await assert.rejects(second.listKeys(), /credential_invalid/)
    }
  }
})

test('simulates an iPhone by default, keeps its key, and creates a new one for another format', async () => {
  await using beside = await besideEachOther('sandbox')
  const iphone = await beside.play('approve')
  assert.equal(iphone.format, 'apple-app-attest')
  const android = await beside.play('approve', 'android-key')
  assert.notEqual(android.device_id, iphone.device_id)
  assert.deepEqual(
    await beside.play('decline').then(({ device_id, format }) => [device_id, format]),
    [android.device_id, 'android-key'],
  )
})

test('rejects the simulated vendors for a production tenant', async () => {
  await using beside = await besideEachOther('production')
  for (const format of PHONE_FORMATS) {
    const { result } = await beside.play('approve', format)
    assert.equal(result.rejection?.reason, 'device_not_usable', format)
  }
})

test('protects the vendors’ private keys with file permissions, and gives the service none', async () => {
  await using beside = await besideEachOther('sandbox')
  assert.equal(statSync(join(beside.folder, 'phone-authority.json')).mode & 0o777, 0o600)
  const testRoots = readFileSync(findTestRoots(beside.folder) ?? '', 'utf8')
  assert.doesNotMatch(testRoots, /PRIVATE/)
  const again = loadTestAuthority(beside.folder)
  assert.ok(testRoots.includes(JSON.stringify(again.apple.root).slice(1, -1)))
})
