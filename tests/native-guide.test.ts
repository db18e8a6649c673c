import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import {
  assertionPayload,
  canonicalJson,
  deviceRemovePayload,
  deviceTokenPayload,
  evidenceRequestPayload,
} from '@bonded/contract'

const read = (path: string) => readFileSync(resolve(import.meta.dirname, '..', path), 'utf8')
const guide = read('docs/guides/native-apps.md')
const example = JSON.parse(read('docs/reference/protocol-example.json')) as Example

interface Example {
  readonly context: { readonly sent: unknown; readonly hash: string }
  readonly evidence_request: { readonly signals: unknown }
  readonly verified_evidence: { readonly answered: unknown; readonly hash: string }
  readonly assertion: { readonly software: { readonly app_attest: { client_data_hash: string } } }
}

test('the script for JavaScriptCore writes the canonical form', () => {
  const [, script = ''] = /evaluateScript\("""\n([\s\S]*?)\n"""\)/.exec(guide) ?? []
  const canonicalize = runInNewContext(script) as (text: string) => string
  const values = [
    example.context.sent,
    example.evidence_request.signals,
    example.verified_evidence.answered,
    { é: [1, 1.5, 1e-7, 1e21, -0, 0.1 + 0.2], a: { '\u{1f600}': null, '\ufb33': true } },
    JSON.parse('{"__proto__": {"b": 1, "a": "\\u0001\\"\\\\/\\u2028"}, "10": 1, "9": 2}'),
  ]
  for (const value of values)
    assert.equal(canonicalize(JSON.stringify(value)), canonicalJson(value))
})

test('the hashes of the guide are those of the protocol’s example', () => {
  for (const hash of [
    example.context.hash,
    example.verified_evidence.hash,
    example.assertion.software.app_attest.client_data_hash,
  ])
    assert.ok(guide.includes(`\`${hash}\``), hash)
})

test('the payloads of the guide have the members and the order of the signed ones', () => {
  // The guide names the members that only some payloads have in the text below.
  const optional = ['browser_key', 'purpose']
  const get = (_fields: object, name: string) => (optional.includes(name) ? undefined : 'x')
  const any = new Proxy({}, { get, has: () => true })
  const payloads = [
    evidenceRequestPayload,
    assertionPayload,
    deviceTokenPayload,
    deviceRemovePayload,
  ]
  for (const payloadOf of payloads) {
    const signed = (payloadOf as (fields: object) => string)(any)
    const { typ } = JSON.parse(signed) as { typ: string }
    const row = guide.split('\n').find((line) => line.includes(`"typ":"${typ}"`)) ?? ''
    const names = [...row.matchAll(/"([a-z_]+)"(?=[,:}])/g)].map(([, name]) => name)
    assert.deepEqual(names, Object.keys(JSON.parse(signed) as object), typ)
  }
})
