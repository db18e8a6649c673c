import { dirname, resolve } from 'node:path'
import { readSettingsFile } from '@bonded/cli/program/settings-file'
import {
  areLabelsDistinct,
  isDisplayText,
  isDisplayValue,
  isExactOrigin,
  REQUESTER_KINDS,
} from '@bonded/contract'
import type { Requester } from '@bonded/integrator/approval'
import { parseWebhookHosts, readDestination } from '@bonded/server/adapters/webhooks/destination'
import { isThisMachine } from '@bonded/server/settings/this-machine'
import type { JWK } from 'oidc-provider'
import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { placeholdersOf } from './template.ts'

/** The label of the approval library. */
const REPEATED = 'Repeated'
const Text = Type.String({ minLength: 1 })
const some = <T extends TSchema>(items: T, rules: object = {}) =>
  Type.Array(items, { minItems: 1, ...rules })
const distinct = { uniqueItems: true }
const closed = <T extends TProperties>(members: T) =>
  Type.Object(members, { additionalProperties: false })

const Pairs = some(closed({ label: Text, value: Text }), { ...distinct, maxItems: 6 })
/** A user, as the tenant's `subject_ref`. */
const Subject = Type.String({ pattern: '^[0-9A-Za-z_-]{43}$' })
const Asker = closed({
  kind: Type.Unsafe<Requester['kind']>({ enum: REQUESTER_KINDS }),
  name: Text,
  detail: Type.Optional(Text),
})

/** What clients can ask for: one workflow with `delivery: inbox`, and one action of it. */
const ApprovalType = closed({
  /** The type of its `authorization_details` (RFC 9396). */
  type: Text,
  workflow: Text,
  action: Text,
  /** Raise it when the meaning of the action changes: earlier approvals then get no token. */
  version: Text,
  /** The resource that accepts its tokens: an absolute URI. */
  audience: Text,
  /** The members of its details, as JSON Schemas. All are required unless `optional` names them. */
  members: Type.Unsafe<Record<string, object>>({
    type: 'object',
    minProperties: 1,
    additionalProperties: { type: 'object' },
  }),
  optional: Type.Optional(Type.Array(Text, distinct)),
  /** What the phone shows before the details. `{name}` is a member, `{name.name}` one of it. */
  // Of the eight pairs, one is for the message, and one says that a request is repeated.
  display: Pairs,
})
export type ApprovalType = Static<typeof ApprovalType>

/** A client, which authenticates by `private_key_jwt`. */
const CibaClient = closed({
  client_id: Type.String({ pattern: '^[!-~]{1,200}$' }),
  requester: Asker,
  /** The users that it can ask. */
  subjects: some(Subject, distinct),
  types: some(Text, distinct),
  /** Where a client in ping mode is notified. Without it, the client polls. */
  notification_endpoint: Type.Optional(Text),
  /** The algorithm of its requests. Without it, the client need not sign them. */
  request_signing_alg: Type.Optional(Type.Unsafe<'ES256' | 'PS256'>({ enum: ['ES256', 'PS256'] })),
  /** Its public keys. */
  jwks: closed({ keys: some(Type.Unsafe<JWK>({ type: 'object', required: ['kty'] }), distinct) }),
})

/** A realm of Keycloak, which asks its users whether to sign in. */
const KeycloakRealm = closed({
  /** The URL of the realm: the `iss` and the `aud` of its tokens. */
  issuer: Text,
  /** Where the realm publishes its keys. */
  jwks_uri: Text,
  /** Where it gets the answers. */
  callback: Text,
  /** A workflow with `delivery: inbox`, and an action of it that no type has. */
  workflow: Text,
  action: Text,
  /** What the phone shows of every sign-in. */
  display: Pairs,
  /** The label of the client's message, which Keycloak does not sign. */
  claim_label: Text,
  /** The clients of the realm that can ask. */
  clients: some(closed({ client_id: Text, requester: Asker })),
  /** The users that they can ask: the id and the user name in Keycloak, and the user here. */
  users: some(closed({ sub: Text, login_hint: Text, subject_ref: Subject })),
})
export type KeycloakRealm = Static<typeof KeycloakRealm>

const CibaConfig = closed({
  /** The public origin of this provider. */
  issuer: Text,
  /** The origin of the Bonded Sessions service. */
  service: Text,
  host: Text,
  port: Type.Integer({ minimum: 0, maximum: 65_535 }),
  /** The SQLite file of requests. */
  database: Text,
  /** The file of the keys that sign tokens. */
  signing_keys: Text,
  /** The label of a client's `binding_message`. */
  message_label: Text,
  /** Hosts with ports to which a notification may go whatever their address. */
  private_hosts: Type.Array(Text, distinct),
  types: Type.Array(ApprovalType),
  clients: Type.Array(CibaClient),
  keycloak: Type.Optional(KeycloakRealm),
})
export type CibaConfig = Static<typeof CibaConfig>

const DEFAULTS = {
  host: '127.0.0.1',
  port: 8790,
  message_label: 'Message',
  private_hosts: [],
  types: [],
  clients: [],
}

/**
 * Reads a configuration file. Relative paths in it begin at its folder.
 *
 * @throws {SettingsFileError} with everything that is wrong with it
 */
export function readConfig(file: string): CibaConfig {
  const given = readSettingsFile(file, { schema: CibaConfig, defaults: DEFAULTS, problemsOf })
  const beside = (path: string) => resolve(dirname(file), path)
  return { ...given, database: beside(given.database), signing_keys: beside(given.signing_keys) }
}

/** What the schema cannot say. */
function* problemsOf({ issuer, types, clients, ...config }: CibaConfig): Generator<string> {
  // Plain http is for this machine only.
  const isSecure = () => issuer.startsWith('https:') || isThisMachine(new URL(issuer).hostname)
  if (!isExactOrigin(issuer) || !isSecure())
    yield '/issuer: must be an origin with https, without a path, such as https://approve.example'
  const { private_hosts, keycloak } = config
  // The channel for Keycloak needs neither.
  for (const [name, list] of Object.entries({ types, clients }))
    if (list.length === 0 && keycloak === undefined) yield `/${name}: must not be empty`
  if (parseWebhookHosts(private_hosts.join(',')) === undefined)
    yield '/private_hosts: must be hosts with ports, such as app.internal:8443'
  if (!isDisplayText(config.message_label)) yield '/message_label: is no text that a phone may show'
  for (const [index, type] of types.entries())
    for (const problem of typeProblems(type, config)) yield `/types/${index}${problem}`
  yield* repeated('/types', 'type', types)
  // An unknown outcome names its action, which must belong to one type.
  const uses = types.map(({ workflow, action }) => ({ use: `${workflow} ${action}` }))
  yield* repeated('/types', 'use', uses)
  yield* repeated('/clients', 'client_id', clients)
  for (const [index, { requester, jwks, ...client }] of clients.entries()) {
    const at = `/clients/${index}`
    yield* requesterProblems(at, requester)
    const endpoint = client.notification_endpoint
    const destination = endpoint === undefined ? {} : readDestination(endpoint, private_hosts)
    if (typeof destination === 'string') yield `${at}/notification_endpoint: ${destination}`
    for (const name of client.types)
      if (!types.some(({ type }) => type === name)) yield `${at}/types: ${name} is not in /types`
    for (const [key, jwk] of jwks.keys.entries())
      if ('d' in jwk || jwk.kty === 'oct')
        yield `${at}/jwks/keys/${key}: must be a public key: replace the key, because it was shared`
  }
  if (keycloak === undefined) return
  for (const problem of realmProblems(keycloak, private_hosts)) yield `/keycloak${problem}`
  if (uses.some(({ use }) => use === `${keycloak.workflow} ${keycloak.action}`))
    yield '/keycloak/action: is of a type too'
}

function* realmProblems(
  { display, claim_label, clients, users, ...realm }: KeycloakRealm,
  hosts: readonly string[],
): Generator<string> {
  if (!URL.canParse(realm.issuer)) yield '/issuer: must be the URL of the realm'
  for (const name of ['jwks_uri', 'callback'] as const) {
    const destination = readDestination(realm[name], hosts)
    if (typeof destination === 'string') yield `/${name}: ${destination}`
  }
  if (![...display.map(({ label }) => label), claim_label].every(isDisplayText))
    yield '/display: a label is no text that a phone may show'
  if (!display.every(({ value }) => isDisplayValue(value)))
    yield '/display: a value is no text that a phone may show'
  if (!areLabelsDistinct([...display, { label: claim_label }, { label: REPEATED }]))
    yield `/display: two labels look alike, or one looks like ${claim_label} or ${REPEATED}`
  yield* repeated('/clients', 'client_id', clients)
  yield* repeated('/users', 'sub', users)
  for (const [index, { requester }] of clients.entries())
    yield* requesterProblems(`/clients/${index}`, requester)
}

function* requesterProblems(at: string, { name, detail = 'none' }: Static<typeof Asker>) {
  if (!isDisplayText(name)) yield `${at}/requester/name: is no text that a phone may show`
  if (!isDisplayValue(detail)) yield `${at}/requester/detail: is no text that a phone may show`
}

function* typeProblems(
  { audience, members, optional = [], display }: ApprovalType,
  { message_label }: Pick<CibaConfig, 'message_label'>,
): Generator<string> {
  if (!URL.canParse(audience) || audience.includes('#')) yield '/audience: must be an absolute URI'
  if ('type' in members) yield '/members/type: is set by the type itself'
  for (const [name, schema] of Object.entries(members))
    try {
      Compile(schema as never)
    } catch (error) {
      yield `/members/${name}: is no JSON Schema: ${String(error)}`
    }
  for (const name of optional)
    if (!Object.hasOwn(members, name)) yield `/optional: ${name} is not in members`
  for (const [index, { label, value }] of display.entries()) {
    if (!isDisplayText(label)) yield `/display/${index}/label: is no text that a phone may show`
    for (const [name = ''] of placeholdersOf(value))
      if (!Object.hasOwn(members, name)) yield `/display/${index}/value: ${name} is not in members`
  }
  if (!areLabelsDistinct([...display, { label: message_label }, { label: REPEATED }]))
    yield `/display: two labels look alike, or one looks like ${message_label} or ${REPEATED}`
}

function* repeated<T extends object>(path: string, name: keyof T & string, list: readonly T[]) {
  const values = list.map((item) => item[name])
  for (const [index, value] of values.entries())
    if (values.indexOf(value) !== index) yield `${path}/${index}: ${String(value)} is there twice`
}
