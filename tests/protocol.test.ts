import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type AppAttest, type DeviceFormat, ENDPOINTS, type Endpoint } from '@bonded/contract'
import { repositoryFiles } from '../scripts/repository-files.ts'
import { protocolExample } from '../scripts/protocol-example.ts'
import { appAssertionVerifier } from '../packages/server/src/adapters/attestation/app-assertion-verifier.ts'
import { appleVerifier } from '../packages/server/src/adapters/attestation/apple/assertion-verifier.ts'
import { webauthnVerifier } from '../packages/server/src/adapters/attestation/webauthn/assertion-verifier.ts'
import type { Device } from '../packages/core/src/domain/session.ts'
import { checksOf } from '../packages/core/src/protocol/run-checks.ts'
import type { AssertionVerifiers } from '../packages/core/src/ports/devices.ts'

const ROOT = resolve(import.meta.dirname, '..')
const PAGE = 'docs/reference/protocol.md'
const protocol = read(PAGE)
const sections = new Set(
  [...protocol.matchAll(/^## (\d+)\. /gm)].map(([, number = '']) => Number(number)),
)

test('the order of the checks of an attestation is that of the code', () => {
  const [, table = ''] =
    protocol.split('**Order of checks.**')[1]?.split('| check | response |') ?? []
  const rows = (table.split('\n\n')[0] ?? '').split('\n').slice(2)
  // The last column names the steps. Where it says more in words, a row begins with its first step.
  const named = rows.flatMap((row) => /`(\w+)`/.exec(row.split('|').at(-2) ?? '')?.[1] ?? [])
  const order: string[] = checksOf('attest').map(({ step }) => step)
  const places = named.filter((step) => step !== 'policy').map((step) => order.indexOf(step))
  assert.ok(places.length > 10)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.ok(!places.includes(-1))
})

test('every cited section of the protocol exists', () => {
  const cited = filesMatching(
    /^(?:(?:packages|tests|scripts|bench|examples|docs\/decisions|docs\/guides)\/|ARCHITECTURE\.md)/,
  ).flatMap((path) => {
    // A comment may break between the word and its number.
    const text = read(path).replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, ' ')
    return [...text.matchAll(/\bprotocol((?: and|,)? \d+)+\b/gi)].flatMap(([words]) =>
      numbersIn(words).map((number) => ({ path, number })),
    )
  })
  const inside = [...protocol.matchAll(/\(\d{1,2}\)|\bsection \d+\b|\bby \d+ again\b/g)].flatMap(
    ([words]) => numbersIn(words).map((number) => ({ path: PAGE, number })),
  )
  assert.ok(cited.length > 40 && inside.length > 15, 'the test finds the citations')
  assert.deepEqual(
    [...cited, ...inside].filter(({ number }) => !sections.has(number)),
    [],
  )
  assert.deepEqual(
    [...sections],
    Array.from({ length: 16 }, (_, index) => index + 1),
  )
})

test('every number in the protocol that links to code equals its value in the code', async () => {
  // The text is for readers, a number with its unit. The title of the link names its source.
  const shown = [...protocol.matchAll(/\[([^\]]+)\]\((\S+) (["'])([A-Z][\w.]+) = (.+?)\3\)/g)].map(
    ([, text = '', place = '', , name = '', value = '']) => ({
      name,
      value: JSON.parse(value) as unknown,
      place,
      text,
    }),
  )
  assert.ok(shown.length > 50, 'the test finds the numbers')
  assert.equal(
    [...protocol.matchAll(/[`"'][A-Z][\w.]+ = /g)].length,
    shown.length,
    'every number links to its source',
  )
  for (const { name, value, place, text } of shown) {
    const read = typeof value === 'number' ? numberIn(text, name) : text.replaceAll('`', '')
    assert.equal(read, value, `${text} for ${name}`)
    const module: unknown = await import(pathToFileURL(resolve(ROOT, dirname(PAGE), place)).href)
    const found = name
      .split('.')
      .reduce((of, member) => (of as Record<string, unknown> | undefined)?.[member], module)
    assert.deepEqual(found, value, `${name} of ${place}`)
  }
})

test('every wire name and every step in the protocol exists in the code', () => {
  const known = new Set(
    filesMatching(/^packages\/[^/]+\/src\//).flatMap((path) => read(path).match(/\w+/g) ?? []),
  )
  const written = [...protocol.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, word = '']) => word)
  assert.ok(written.length > 150, 'the test finds the names')
  assert.deepEqual(
    written.filter((word) => !known.has(word)),
    [],
  )
})

test('the protocol names every endpoint’s own rejections, and every path that a phone calls', () => {
  const endpoints: readonly Endpoint[] = Object.values(ENDPOINTS)
  const reasons = new Set(endpoints.flatMap(({ rejections }) => rejections))
  const paths = endpoints.flatMap(({ callers, ownOriginOnly, path }) =>
    callers.includes('phone') || ownOriginOnly ? [path.replace('/api/v1', '')] : [],
  )
  assert.ok(reasons.size > 30 && paths.length > 8)
  assert.deepEqual(
    [
      ...[...reasons].filter((reason) => !protocol.includes(`(reasons/${reason}.md)`)),
      ...paths.filter((path) => !protocol.includes(`${path}\``)),
    ],
    [],
  )
})

test('the signed payloads have the members that the protocol names', () => {
  const {
    assertion,
    evidence_request,
    verified_evidence,
    device_token,
    device_recovery,
    device_add,
    device_remove,
    browser,
    inbox,
  } = protocolExample()
  const blocks = [...protocol.matchAll(/JCS\(\{([\s\S]*?)\}\)/g)].map(([, members = '']) => members)
  const named = (block: string) => [...block.matchAll(/"([a-z_]+)"/g)].map(([, name = '']) => name)
  const membersOf = (payload: string) => Object.keys(JSON.parse(payload) as object)
  const sameAs = (typ: string, payload: string) => {
    const block = blocks.find((one) => one.includes(`"${typ}"`)) ?? ''
    assert.deepEqual(named(block).sort(), membersOf(payload).sort(), typ)
  }
  sameAs('bonded-assertion/v1', assertion.payload)
  sameAs('bonded-browser/v1', browser.payload)
  sameAs('bonded-evidence-request/v1', evidence_request.payload)
  sameAs('bonded-device-token/v1', device_token.payload)
  sameAs('bonded-device-recovery/v1', device_recovery.payload)
  sameAs('bonded-inbox/v1', inbox.payload)
  sameAs('bonded-inbox-resume/v1', inbox.resume_payload)
  sameAs('bonded-device-push/v1', inbox.push_payload)
  sameAs('bonded-device-add/v1', device_add.payload)
  sameAs('bonded-device-remove/v1', device_remove.payload)

  const [head = '', body = ''] = verified_evidence.mac_input.split('\n')
  const mac = protocol.split(`"${head}\\n" + `)[1] ?? ''
  const { context } = JSON.parse(body) as { context: object }
  assert.deepEqual(
    named(mac.slice(0, mac.indexOf('}'))).sort(),
    ['context', ...Object.keys(context)].sort(),
  )
})

test('the service accepts the assertions of the example, and only with the signed payload', () => {
  const example = protocolExample()
  const { assertion, evidence_request, device_token, device_add, device_remove } = example
  const signed: readonly [DeviceFormat, string, { app_id: string; app_attest: AppAttest }][] = [
    ['software', evidence_request.payload, evidence_request.software],
    ['software', device_token.payload, device_token.software],
    ['software', device_add.payload, device_add.software],
    ['software', device_remove.payload, device_remove.software],
    ['software', assertion.payload, assertion.software],
    ['android-key', assertion.payload, assertion['android-key']],
    ['apple-app-attest', assertion.payload, assertion['apple-app-attest']],
    ['webauthn', assertion.payload, assertion.webauthn],
  ]
  const apple = {
    appId: assertion['apple-app-attest'].app_id,
    environments: [],
    categories: [],
    missing: 'allow',
    bundleVersions: 'any',
  } as const
  const verifiers: AssertionVerifiers = {
    software: appAssertionVerifier,
    'android-key': appAssertionVerifier,
    'apple-app-attest': appleVerifier([apple]),
    webauthn: webauthnVerifier({ origin: example.session.origin }),
  }
  for (const [format, payload, { app_id, app_attest }] of signed) {
    const device: Device = {
      id: example.session.device_id as Device['id'],
      subjectId: example.session.subject_id as Device['subjectId'],
      format,
      keyId: app_attest.key_id,
      publicKey: Buffer.from(example.public_key_spki, 'base64url'),
      environment: 'sandbox',
      status: 'active',
      appId: app_id,
      counter: 0,
      lastIssuedAt: null,
      createdAt: 0,
    }
    const verify = (appAttest: AppAttest) =>
      verifiers[format].verify({ device, payload, appAttest })
    const taken = verify(app_attest)
    assert.ok(taken.ok, `${format}: ${JSON.stringify(taken)}`)
    // A counter raised by one is different from the signed one.
    const bytes = Buffer.from(app_attest.authenticator_data, 'base64url')
    bytes.writeUInt8(bytes.readUInt8(36) + 1, 36)
    assert.equal(
      verify({ ...app_attest, authenticator_data: bytes.toString('base64url') }).ok,
      false,
      format,
    )
  }
})

test('the service accepts the browser’s proof of the example, and only from its page', () => {
  const { browser, session, assertion, public_key_spki } = protocolExample()
  const { id, response } = browser.body.assertion
  const device: Device = {
    id: session.device_id as Device['id'],
    subjectId: session.subject_id as Device['subjectId'],
    format: 'webauthn',
    keyId: assertion.webauthn.app_attest.key_id,
    publicKey: Buffer.from(public_key_spki, 'base64url'),
    environment: 'sandbox',
    status: 'active',
    appId: assertion.webauthn.app_id,
    counter: 0,
    lastIssuedAt: null,
    createdAt: 0,
  }
  const verify = (payload: string, origin: string) =>
    webauthnVerifier({ origin: session.origin }).verify({
      device,
      origin,
      payload,
      appAttest: {
        key_id: id,
        client_data_hash: hash('sha256', browser.client_data, 'base64url'),
        client_data_json: response.clientDataJSON,
        authenticator_data: response.authenticatorData,
        signature: response.signature,
      },
    })
  assert.equal(browser.body.commitment, hash('sha256', browser.secret, 'base64url'))
  const taken = verify(browser.payload, browser.origin)
  assert.ok(taken.ok, JSON.stringify(taken))
  assert.equal(verify(browser.payload, session.origin).ok, false)
  assert.equal(verify(assertion.payload, browser.origin).ok, false)
})

const MS_IN: Readonly<Record<string, number>> = {
  days: 24 * 60 * 60_000,
  s: 1_000,
  hour: 3_600_000,
  hours: 3_600_000,
}

/** The number that a text shows, in the unit of the constant's name. */
function numberIn(text: string, name: string): number {
  const [, digits = '', unit] = /^([\d.,]+)(?: ([a-z]+))?$/.exec(text) ?? []
  const number = Number(digits.replaceAll(',', ''))
  if (unit === undefined) return number
  const ms = number * (MS_IN[unit] ?? Number.NaN)
  return name.endsWith('_MS') ? ms : /_SECONDS$|_seconds\b/.test(name) ? ms / 1_000 : Number.NaN
}

function numbersIn(words: string): number[] {
  return (words.match(/\d+/g) ?? []).map(Number)
}

function filesMatching(pattern: RegExp): string[] {
  return repositoryFiles().filter((path) => pattern.test(path) && /\.(?:ts|md)$/.test(path))
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
