import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Result } from '../../kit/src/cases.ts'
import { runPhone } from '../../kit/src/phone/cases.ts'
import { runVerifier } from '../../kit/src/verifier.ts'
import { childAdapter } from './child-adapter.ts'
import { OF_PHONE, OF_VERIFIER } from './faults.ts'

function textOf(results: readonly Result[]): string {
  return results
    .flatMap(({ rule, failure }) => (failure === undefined ? [] : [`${rule}: ${failure}`]))
    .join('\n')
}

for (const { kind, found, ...fault } of OF_PHONE)
  test(`the kit finds a phone that ${kind}`, async () => {
    await using adapter = await childAdapter('product-phone.ts', fault)
    assert.match(textOf(await runPhone(adapter.address)), found)
  })

for (const { kind, found, ...fault } of OF_VERIFIER)
  test(`the kit finds a verifier that ${kind}`, async () => {
    await using adapter = await childAdapter('product-verifier-process.ts', fault)
    const files = ['receipts', 'quorums'] as const
    assert.match(textOf(await runVerifier(adapter.address, files)), found)
  })
