import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import {
  areLabelsDistinct,
  isDisplayText,
  isDisplayValue,
  isExactOrigin,
  REQUESTER_KINDS,
} from '@bonded/contract'
import type { Requester } from '@bonded/integrator/approval'
import type { JWKS } from 'oidc-provider'
import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { parse } from 'yaml'
import { placeholdersOf } from './template.ts'

/** What clients can ask for: one workflow with `delivery: inbox`, and one action of it. */
export interface ApprovalType {
  /** The type of its `authorization_details` (RFC 9396). */
  readonly type: string
  readonly workflow: string
  readonly action: string
  /** Raise it when the meaning of the action changes: earlier approvals then get no token. */
  readonly version: string
  /** The resource that accepts its tokens: an absolute URI. */
  readonly audience: string
  /** The members of its details, as JSON Schemas. All are required unless `optional` names them. */
  readonly members: Readonly<Record<string, object>>
  readonly optional?: readonly string[]
  /** What the phone shows before the details. `{name}` is a member, `{name.name}` one of it. */
  readonly display: readonly { readonly label: string; readonly value: string }[]
}

/** A client, which authenticates by `private_key_jwt`. */
export interface CibaClient {
  readonly client_id: string
  readonly requester: Requester
  /** The users that it can ask, each as the tenant's `subject_ref`. */
  readonly subjects: readonly string[]
  readonly types: readonly string[]
  /** Its public keys. */
  readonly jwks: JWKS
}

export interface CibaConfig {
  /** The public origin of this provider. */
  readonly issuer: string
  /** The origin of the Bonded Sessions service. */
  readonly service: string
  readonly host: string
  readonly port: number
  /** The SQLite file of requests. */
  readonly database: string
  /** The file of the keys that sign tokens. */
  readonly signing_keys: string
  /** The label of a client's `binding_message`. */
  readonly message_label: string
  readonly types: readonly ApprovalType[]
  readonly clients: readonly CibaClient[]
}

/** Everything that is wrong with a configuration. */
export class CibaConfigError extends Error {
  override readonly name = 'CibaConfigError'
}

const DEFAULTS = { host: '127.0.0.1', port: 8790, message_label: 'Message' }

const text = { type: 'string', minLength: 1 }
const some = (items: object) => ({ type: 'array', minItems: 1, items })
const list = (items: object) => ({ ...some(items), uniqueItems: true })
const closed = (properties: object, optional: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
})
const SCHEMA = closed({
  issuer: text,
  service: text,
  host: text,
  port: { type: 'integer', minimum: 0, maximum: 65_535 },
  database: text,
  signing_keys: text,
  message_label: text,
  types: some(
    closed(
      {
        type: text,
        workflow: text,
        action: text,
        version: text,
        audience: text,
        members: { type: 'object', minProperties: 1, additionalProperties: { type: 'object' } },
        optional: { type: 'array', uniqueItems: true, items: text },
        // One of the eight pairs is for the message.
        display: { ...list(closed({ label: text, value: text })), maxItems: 7 },
      },
      ['optional'],
    ),
  ),
  clients: some(
    closed({
      client_id: { type: 'string', pattern: '^[!-~]{1,200}$' },
      requester: closed({ kind: { enum: REQUESTER_KINDS }, name: text, detail: text }, ['detail']),
      subjects: list({ type: 'string', pattern: '^[0-9A-Za-z_-]{43}$' }),
      types: list(text),
      jwks: closed({ keys: list({ type: 'object', required: ['kty'] }) }),
    }),
  ),
})

/**
 * Reads a configuration file (YAML). Relative paths in it begin at its folder.
 *
 * @throws {CibaConfigError} with everything that is wrong with it
 */
export function readConfig(file: string): CibaConfig {
  const value = parsed(file)
  const config = typeof value === 'object' && value !== null ? { ...DEFAULTS, ...value } : value
  // By default, it names the first eight.
  Settings.Set({ maxErrors: 1_000 })
  const errors = Compile(SCHEMA as never).Errors(config)
  const problems =
    errors.length > 0
      ? errors.flatMap(({ keyword, instancePath, message }) =>
          // The member itself is named too.
          keyword === 'additionalProperties'
            ? []
            : `${instancePath || '/'}: ${keyword === 'boolean' ? 'is no member' : message}`,
        )
      : [...problemsOf(config as CibaConfig)]
  if (problems.length > 0) throw new CibaConfigError(`${file} is invalid:\n${problems.join('\n')}`)
  const given = config as CibaConfig
  const beside = (path: string) => resolve(dirname(file), path)
  return { ...given, database: beside(given.database), signing_keys: beside(given.signing_keys) }
}

function parsed(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'), { maxAliasCount: 0 })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CibaConfigError(`${file} cannot be read: ${reason}`, { cause })
  }
}

/** What the schema cannot say. */
function* problemsOf({ issuer, types, clients, ...config }: CibaConfig): Generator<string> {
  if (!isExactOrigin(issuer) || !isSecure(issuer))
    yield '/issuer: must be an origin with https, without a path, such as https://approve.example'
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
    if (!isDisplayText(requester.name))
      yield `${at}/requester/name: is no text that a phone may show`
    if (!isDisplayValue(requester.detail ?? 'none'))
      yield `${at}/requester/detail: is no text that a phone may show`
    for (const name of client.types)
      if (!types.some(({ type }) => type === name)) yield `${at}/types: ${name} is not in /types`
    for (const [key, jwk] of jwks.keys.entries())
      if ('d' in jwk || jwk.kty === 'oct')
        yield `${at}/jwks/keys/${key}: must be a public key: replace the key, because it was shared`
  }
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
  if (!areLabelsDistinct([...display, { label: message_label }]))
    yield `/display: two labels look alike, or one looks like ${message_label}`
}

function* repeated<T extends object>(path: string, name: keyof T & string, list: readonly T[]) {
  const values = list.map((item) => item[name])
  for (const [index, value] of values.entries())
    if (values.indexOf(value) !== index) yield `${path}/${index}: ${String(value)} is there twice`
}

/** Plain http is for this machine only. */
function isSecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
}
