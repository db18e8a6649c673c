import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { stringify } from 'yaml'
import { readConfig } from '../src/config.ts'
import { configOf, newClient } from './harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-ciba-problems-'))
after(() => rmSync(folder, { recursive: true }))
const [ONE, TWO] = ['1', '2'].map((digit) => digit.repeat(43)) as [string, string]
const client = newClient('invoice-agent')
const VALID = configOf({ issuer: 'https://approve.example', service: 'https://bonds.example' }, [
  { client, subjects: [ONE] },
])
const [TYPE] = VALID.types as [(typeof VALID.types)[number]]
const [CLIENT] = VALID.clients as [(typeof VALID.clients)[number]]
const REALM = {
  issuer: 'https://id.example/realms/bank',
  jwks_uri: 'https://id.example/certs',
  callback: 'https://id.example/callback',
  workflow: 'sign_in',
  action: 'sign_in',
  display: [{ label: 'Sign in to', value: 'My bank' }],
  claim_label: 'Message of the client',
  clients: [{ client_id: 'shop', requester: { kind: 'service', name: 'Shop' } }],
  users: [{ sub: 'u-1', login_hint: 'ada', subject_ref: ONE }],
}
const NO_TEXT = 'is no text that a phone may show'
const HIDDEN = 'a\u202eb'

const file = join(folder, 'ciba.yaml')
function read(config: object) {
  // The reader rejects aliases.
  writeFileSync(file, stringify(config, { aliasDuplicateObjects: false }))
  return readConfig(file)
}

/** Everything that is wrong, in the order in which the operator reads it. */
function problemsOf(change: object): readonly string[] {
  try {
    read({ ...VALID, ...change })
  } catch (error) {
    const [first, ...problems] = (error as Error).message.split('\n')
    assert.equal(first, `${file} is invalid:`)
    return problems
  }
  return []
}

test('a member that the file leaves out has the default of the guide', () => {
  const { port: _port, ...given } = VALID
  const { host, port, message_label, private_hosts, keycloak } = read(given)
  assert.deepEqual(
    { host, port, message_label, private_hosts, keycloak },
    {
      host: '127.0.0.1',
      port: 8790,
      message_label: 'Message',
      private_hosts: [],
      keycloak: undefined,
    },
  )
  const { types: _types, clients: _clients, ...alone } = { ...given, keycloak: REALM }
  const realm = read(alone)
  assert.deepEqual([realm.types, realm.clients], [[], []])
})

test('each path begins at the folder of the file, and an absolute one stays', () => {
  const beside = read({ ...VALID, database: 'a/requests.db', signing_keys: '../keys.json' })
  assert.deepEqual(
    [beside.database, beside.signing_keys],
    [join(folder, 'a/requests.db'), join(folder, '../keys.json')],
  )
  const absolute = read({ ...VALID, database: '/var/a.db', signing_keys: '/etc/b.json' })
  assert.deepEqual([absolute.database, absolute.signing_keys], ['/var/a.db', '/etc/b.json'])
})

test('every problem is named with its place, and no other one is', () => {
  const types = (...changes: readonly object[]) => ({
    types: changes.map((change) => ({ ...TYPE, ...change })),
  })
  const clients = (...changes: readonly object[]) => ({
    clients: changes.map((change) => ({ ...CLIENT, ...change })),
  })
  const display = (...pairs: readonly (readonly [label: string, value: string])[]) => ({
    display: pairs.map(([label, value]) => ({ label, value })),
  })
  const realm = (change: object) => ({ keycloak: { ...REALM, ...change } })
  const other = { type: 'refund', action: 'refund' }
  const key = client.privateKey.export({ format: 'jwk' })
  const asker = { kind: 'agent', name: 'Agent' }
  const alike = (label: string) =>
    `/display: two labels look alike, or one looks like ${label} or Repeated`
  for (const [change, ...problems] of [
    [{}],
    [{ issuer: 'http://localhost:8790' }],
    [
      { issuer: 'https://approve.example/' },
      '/issuer: must be an origin with https, without a path, such as https://approve.example',
    ],
    [{ types: [], clients: [] }, '/types: must not be empty', '/clients: must not be empty'],
    [{ private_hosts: ['app.internal:8443', '10.0.0.1:443'] }],
    [
      { private_hosts: ['app.internal:8443', 'b'] },
      '/private_hosts: must be hosts with ports, such as app.internal:8443',
    ],
    [{ message_label: HIDDEN }, `/message_label: ${NO_TEXT}`],
    [{ message_label: 'To' }, `/types/0${alike('To')}`],
    [types({}, other)],
    [types({}, { ...other, action: 'act' }), '/types/1: agent act is there twice'],
    [types({}, { action: 'refund' }), '/types/1: payment is there twice'],
    [types({}, { ...other, workflow: 'other', action: 'act' })],
    [types({ audience: 'urn:bank:payments' })],
    [types({ audience: 'bank' }), '/types/0/audience: must be an absolute URI'],
    [types({ audience: 'https://bank.example/#a' }), '/types/0/audience: must be an absolute URI'],
    [
      types({}, { ...other, members: { ...TYPE.members, type: {} } }),
      '/types/1/members/type: is set by the type itself',
    ],
    [types({ optional: ['reference', 'note'] }), '/types/0/optional: note is not in members'],
    [
      types(display(['To', '{creditor}'], [HIDDEN, '{iban} {bic.code}'])),
      `/types/0/display/1/label: ${NO_TEXT}`,
      '/types/0/display/1/value: iban is not in members',
      '/types/0/display/1/value: bic is not in members',
    ],
    [types(display(['To', 'x'], ['Message', 'y'])), `/types/0${alike('Message')}`],
    [types(display(['To', 'x'], ['Repeated', 'y'])), `/types/0${alike('Message')}`],
    [clients({}, { client_id: 'other' })],
    [clients({}, {}), '/clients/1: invoice-agent is there twice'],
    [
      clients({}, { client_id: 'b', requester: { ...asker, name: HIDDEN, detail: HIDDEN } }),
      `/clients/1/requester/name: ${NO_TEXT}`,
      `/clients/1/requester/detail: ${NO_TEXT}`,
    ],
    [
      clients({ types: ['payment', 'refund', 'sale'] }),
      '/clients/0/types: refund is not in /types',
      '/clients/0/types: sale is not in /types',
    ],
    [clients({ notification_endpoint: 'https://app.example/ciba' })],
    [
      {
        ...clients({ notification_endpoint: 'https://10.0.0.1:8443/ciba' }),
        private_hosts: ['10.0.0.1:8443'],
      },
    ],
    [
      clients({ jwks: { keys: [client.jwk, key, { kty: 'oct', k: 'AA' }] } }),
      '/clients/0/jwks/keys/1: must be a public key: replace the key, because it was shared',
      '/clients/0/jwks/keys/2: must be a public key: replace the key, because it was shared',
    ],
    [realm({})],
    [realm({ issuer: 'bank' }), '/keycloak/issuer: must be the URL of the realm'],
    [{ ...realm({ callback: 'https://10.0.0.1:8443/' }), private_hosts: ['10.0.0.1:8443'] }],
    [{ ...realm({ jwks_uri: 'https://10.0.0.1:8443/' }), private_hosts: ['10.0.0.1:8443'] }],
    [realm({ workflow: 'agent', action: 'act' }), '/keycloak/action: is of a type too'],
    [realm({ workflow: 'agent' })],
    [realm({ action: 'act' })],
    [realm({ claim_label: HIDDEN }), `/keycloak/display: a label ${NO_TEXT}`],
    [realm(display([HIDDEN, 'x'])), `/keycloak/display: a label ${NO_TEXT}`],
    [realm(display(['A', 'x'], ['B', HIDDEN])), `/keycloak/display: a value ${NO_TEXT}`],
    [realm({ claim_label: 'Sign in to' }), `/keycloak${alike('Sign in to')}`],
    [realm(display(['Repeated', 'x'])), `/keycloak${alike('Message of the client')}`],
    [
      realm({ clients: [...REALM.clients, ...REALM.clients] }),
      '/keycloak/clients/1: shop is there twice',
    ],
    [realm({ users: [...REALM.users, ...REALM.users] }), '/keycloak/users/1: u-1 is there twice'],
    [
      realm({
        clients: [...REALM.clients, { client_id: 'b', requester: { ...asker, detail: HIDDEN } }],
      }),
      `/keycloak/clients/1/requester/detail: ${NO_TEXT}`,
    ],
  ] as readonly (readonly [object, ...string[]])[])
    assert.deepEqual(problemsOf(change), problems, JSON.stringify(change).slice(0, 300))
})

test('each limit of the schema is at its boundary', () => {
  const pairs = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ label: `Label ${index}`, value: 'x' }))
  const { jwks, types, ...rest } = CLIENT
  for (const [change, isValid] of [
    [{ port: 0 }, true],
    [{ port: 65_535 }, true],
    [{ port: -1 }, false],
    [{ port: 65_536 }, false],
    [{ port: 1.5 }, false],
    [{ types: [{ ...TYPE, display: pairs(6) }] }, true],
    [{ types: [{ ...TYPE, display: pairs(7) }] }, false],
    [{ types: [{ ...TYPE, display: [] }] }, false],
    [{ types: [{ ...TYPE, members: {} }] }, false],
    [{ types: [{ ...TYPE, version: '' }] }, false],
    [{ types: [{ ...TYPE, optional: [] }] }, true],
    [{ types: [{ ...TYPE, optional: ['reference', 'reference'] }] }, false],
    [{ types: [{ ...TYPE, extra: 1 }] }, false],
    [{ clients: [{ ...CLIENT, client_id: 'c'.repeat(200) }] }, true],
    [{ clients: [{ ...CLIENT, client_id: 'c'.repeat(201) }] }, false],
    [{ clients: [{ ...CLIENT, client_id: 'c d' }] }, false],
    [{ clients: [{ ...CLIENT, client_id: '!~' }] }, true],
    [{ clients: [{ ...CLIENT, subjects: [] }] }, false],
    [{ clients: [{ ...CLIENT, subjects: [ONE, TWO, `${'a'.repeat(41)}_-`] }] }, true],
    [{ clients: [{ ...CLIENT, subjects: [ONE, ONE] }] }, false],
    [{ clients: [{ ...CLIENT, subjects: [`${ONE}1`] }] }, false],
    [{ clients: [{ ...CLIENT, subjects: [ONE.slice(1)] }] }, false],
    [{ clients: [{ ...CLIENT, types: [] }] }, false],
    [{ clients: [{ ...rest, types, jwks: { keys: [] } }] }, false],
    [{ clients: [{ ...rest, types, jwks: { ...jwks, extra: 1 } }] }, false],
    [{ clients: [{ ...CLIENT, request_signing_alg: 'ES256' }] }, true],
    [{ clients: [{ ...CLIENT, request_signing_alg: 'PS256' }] }, true],
    [{ clients: [{ ...CLIENT, request_signing_alg: 'EdDSA' }] }, false],
    [{ clients: [{ ...CLIENT, requester: { kind: 'robot', name: 'Agent' } }] }, false],
    [{ clients: [{ ...CLIENT, requester: { kind: 'service', name: '' } }] }, false],
    [{ keycloak: { ...REALM, display: pairs(6) } }, true],
    [{ keycloak: { ...REALM, display: pairs(7) } }, false],
    [{ keycloak: { ...REALM, users: [] } }, false],
    [{ private_hosts: ['a.internal:1', 'a.internal:1'] }, false],
  ] as const)
    assert.equal(problemsOf(change).length === 0, isValid, JSON.stringify(change))
})
