import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '@bonded/server/settings/config'
import type { Service } from '@bonded/core/operations/service'
import { drawnScene } from '../../../console/tests/drawn-scene.ts'
import {
  checkBrowserProof,
  checkCompletions,
  checkPasskeys,
  checkReceipts,
  checkWebhooks,
} from '../../src/node/doctor-stored.ts'

const CONFIG = {
  rpId: 'bond.example',
  publicOrigin: 'https://bond.example',
  relatedOrigins: false,
  formerRpIds: [],
} as unknown as Config

test('the checks of what is stored say what there is, and without a database that there is none', async () => {
  await using scene = await drawnScene()
  const { h, named } = scene
  const check = async (
    run: typeof checkPasskeys,
    service: Service | undefined,
    config: Partial<Config> = {},
  ) => {
    const stored = { service: async () => service } as unknown as Parameters<typeof run>[2]
    const found = await run({ ...CONFIG, ...config }, {}, stored)
    return typeof found === 'string' ? [found] : [found.says, ...(found.warnings ?? []).map(named)]
  }
  const below =
    ' Every host below example can ask a user for these passkeys, and delete one that answers there.'
  for (const [run, service, config, expected] of [
    [checkPasskeys, undefined, {}, ['New passkeys have the RP ID bond.example.']],
    [
      checkPasskeys,
      undefined,
      { rpId: 'example' },
      [`New passkeys have the RP ID example.${below}`],
    ],
    [checkPasskeys, h.service, {}, ['Passkeys have the RP ID bond.example.']],
    [checkPasskeys, h.service, { rpId: 'example' }, [`Passkeys have the RP ID example.${below}`]],
    [checkBrowserProof, h.service, {}, ['No tenant requires the browser.']],
    [checkCompletions, undefined, {}, ['No recent completions.']],
    [checkCompletions, h.service, {}, ['Recent completions: 1.']],
    [checkWebhooks, undefined, {}, ['No webhook endpoints.']],
    [
      checkWebhooks,
      h.service,
      {},
      [
        'Endpoints: 4. Waiting: 1, the oldest due for 0 s.',
        'The webhook endpoint ENDPOINT-GONE of TENANT-SHOP is disabled: it answered 410.',
      ],
    ],
    [checkReceipts, undefined, {}, ['No receipts yet.']],
    [checkReceipts, h.service, {}, ['The log has 5 entries. No witness is configured.']],
  ] as const) {
    const found = await check(run, service, config)
    assert.deepEqual(found.slice(0, expected.length), expected)
  }
})
