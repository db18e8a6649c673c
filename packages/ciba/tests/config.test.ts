import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { SettingsFileError } from '@bonded/cli/program/settings-file-error'
import { readConfig } from '../src/config.ts'
import { explain } from '../src/index.ts'
import { signingKeys } from '../src/signing-keys.ts'
import { render } from '../src/template.ts'
import { samplesOf } from '../../../tests/samples/samples.ts'
import { configOf, newClient } from './harness.ts'

/** The reader rejects aliases. */
const OPTIONS = { aliasDuplicateObjects: false }
const folder = mkdtempSync(join(tmpdir(), 'bonded-ciba-config-'))
after(() => rmSync(folder, { recursive: true }))
const client = newClient('invoice-agent')
const VALID = configOf({ issuer: 'https://approve.example', service: 'https://bonds.example' }, [
  { client, subjects: ['s'.repeat(43)] },
])
const [TYPE] = VALID.types
const [CLIENT] = VALID.clients
const [BLOCK] = samplesOf('docs/guides/openid-providers.md')
const { keycloak: REALM } = parse((BLOCK?.code ?? '').replace('SUBJECT_REF', 's'.repeat(43)))

function read(config: unknown) {
  const file = join(folder, 'ciba.yaml')
  writeFileSync(file, typeof config === 'string' ? config : stringify(config, OPTIONS))
  return readConfig(file)
}

test('reads a configuration, with paths beside its file', () => {
  const config = read(VALID)
  assert.equal(config.database, join(folder, 'ciba.db'))
  assert.equal(config.host, '127.0.0.1')
})

test('reads the realm of the guide, alone and beside clients', () => {
  const { types: _types, clients: _clients, ...alone } = VALID
  for (const given of [alone, VALID])
    assert.deepEqual(read({ ...given, keycloak: REALM }).keycloak, REALM)
})

test('names everything that is wrong with a realm of Keycloak', () => {
  const [realmClient] = REALM.clients
  const [user] = REALM.users
  const { workflow, action } = TYPE as { workflow: string; action: string }
  for (const [change, problem] of [
    [{ issuer: 'bank' }, '/keycloak/issuer: must be the URL of the realm'],
    [{ callback: undefined }, '/keycloak: must'],
    [{ jwks: {} }, '/keycloak/jwks: is no member'],
    [{ jwks_uri: 'http://id.example/certs' }, '/keycloak/jwks_uri: it is not an https URL'],
    [{ callback: 'https://10.0.0.1/callback' }, '/keycloak/callback: its address is not public'],
    [{ callback: 'https://id.example:8443/' }, '/keycloak/callback: its port is not 443'],
    [{ workflow, action }, '/keycloak/action: is of a type too'],
    [{ display: [] }, '/keycloak/display: must'],
    [{ display: [{ label: 'To', value: 'a\u202eb' }] }, '/keycloak/display: a value is no text'],
    [{ claim_label: 'a\u202eb' }, '/keycloak/display: a label is no text'],
    [{ claim_label: 'sign in to' }, '/keycloak/display: two labels look alike'],
    [{ clients: [] }, '/keycloak/clients: must'],
    [{ clients: [realmClient, realmClient] }, '/keycloak/clients/1: shop is there twice'],
    [
      { clients: [{ ...realmClient, requester: { kind: 'service', name: 'a\u202eb' } }] },
      '/keycloak/clients/0/requester/name: is no text',
    ],
    [{ users: [user, user] }, `/keycloak/users/1: ${user.sub} is there twice`],
    [{ users: [{ ...user, subject_ref: 'ada' }] }, '/keycloak/users/0/subject_ref: must'],
  ] as const)
    assert.throws(
      () => read({ ...VALID, keycloak: { ...REALM, ...change } }),
      (error: Error) => error instanceof SettingsFileError && error.message.includes(problem),
      problem,
    )
})

test('names everything that is wrong with a configuration', () => {
  const { privateKey } = client
  for (const [change, problems] of [
    [{ issuer: 1, host: 1, extra: true }, ['/issuer: must', '/host: must', '/extra: is no member']],
    [{ issuer: 'http://approve.example' }, ['/issuer: must be an origin with https']],
    [{ issuer: 'https://approve.example/path' }, ['/issuer: must']],
    [{ types: [] }, ['/types: must']],
    [{ types: [TYPE, TYPE] }, ['/types/1: payment is there twice', '/types/1: agent act']],
    [{ types: [{ ...TYPE, audience: 'bank' }] }, ['/types/0/audience: must be an absolute URI']],
    [{ types: [{ ...TYPE, optional: ['note'] }] }, ['/types/0/optional: note is not in members']],
    [
      { types: [{ ...TYPE, display: [{ label: 'To', value: '{iban.code}' }] }] },
      ['/types/0/display/0/value: iban is not in members'],
    ],
    [
      { types: [{ ...TYPE, display: [{ label: 'message', value: 'x' }] }] },
      ['/types/0/display: two labels look alike'],
    ],
    [
      { types: [{ ...TYPE, display: [{ label: 'repeated', value: 'x' }] }] },
      ['/types/0/display: two labels look alike'],
    ],
    [{ clients: [CLIENT, CLIENT] }, ['/clients/1: invoice-agent is there twice']],
    [
      { clients: [{ ...CLIENT, types: ['refund'], subjects: ['short'] }] },
      ['/clients/0/subjects/0: must'],
    ],
    [{ clients: [{ ...CLIENT, types: ['refund'] }] }, ['/clients/0/types: refund is not in']],
    [
      { clients: [{ ...CLIENT, jwks: { keys: [privateKey.export({ format: 'jwk' })] } }] },
      ['/clients/0/jwks/keys/0: must be a public key'],
    ],
    [
      { clients: [{ ...CLIENT, request_signing_alg: 'RS256' }] },
      ['/clients/0/request_signing_alg: must'],
    ],
    [{ private_hosts: ['app.internal'] }, ['/private_hosts: must be hosts with ports']],
    [
      { clients: [{ ...CLIENT, notification_endpoint: 'http://app.example/ciba' }] },
      ['/clients/0/notification_endpoint: it is not an https URL'],
    ],
    [
      { clients: [{ ...CLIENT, notification_endpoint: 'https://10.0.0.1/ciba' }] },
      ['/clients/0/notification_endpoint: its address is not public'],
    ],
    [
      { clients: [{ ...CLIENT, requester: { kind: 'agent', name: 'a\u202eb' } }] },
      ['/clients/0/requester/name: is no text'],
    ],
  ] as const)
    assert.throws(
      () => read({ ...VALID, ...change }),
      (error: Error) => {
        assert.ok(error instanceof SettingsFileError)
        for (const problem of problems) assert.ok(error.message.includes(problem), error.message)
        return true
      },
    )
})

test('a file that is missing or no YAML is a wrong configuration', () => {
  for (const act of [() => read('a: ['), () => readConfig(join(folder, 'none.yaml'))])
    assert.throws(act, (error) => {
      assert.deepEqual([explain(error).code, explain(error).usage], ['configuration_invalid', true])
      return true
    })
})

test('creates a signing key once, which only its account reads', () => {
  const file = join(folder, 'keys.json')
  const { keys } = signingKeys(file)
  assert.deepEqual(signingKeys(file).keys, keys)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  writeFileSync(file, readFileSync(file, 'utf8').replace('"d"', '"e"'))
  assert.throws(() => signingKeys(file), /must be a JWK set of private EC keys/)
})

test('fills a template once, whatever the values contain', () => {
  const members = { amount: 5, to: '{amount}', account: { iban: 'DE1' } }
  assert.equal(render('{amount} EUR {to} {account.iban}{none}', members), '5 EUR {amount} DE1')
  assert.throws(() => render('{account}', members), TypeError)
  assert.equal(render('{toString}{account.iban.length}', members), '')
})
