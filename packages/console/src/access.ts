import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isExactOrigin, Secret } from '@bonded/contract'
import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { parse } from 'yaml'
import { type Role, ROLES } from './roles.ts'

/** Who may sign in, and where. */
export interface Access {
  /** The address that the browser shows, which the provider returns to. */
  readonly origin: string
  readonly issuer: string
  readonly clientId: string
  /** Undefined for a public client. */
  readonly clientSecret: Secret | undefined
  /** The claim of the ID token that lists the groups of an operator. */
  readonly groupsClaim: string
  readonly groups: Readonly<Record<Role, readonly string[]>>
  /** Scopes beside `openid`. */
  readonly scopes: readonly string[]
}

/** Everything that is wrong with a file. */
export class AccessError extends Error {
  override readonly name = 'AccessError'
}

interface Written {
  readonly origin: string
  readonly issuer: string
  readonly client_id: string
  readonly client_secret_file?: string
  readonly groups_claim: string
  readonly scopes: readonly string[]
  readonly roles: Partial<Record<Role, readonly string[]>>
}

const DEFAULTS = { groups_claim: 'groups', scopes: ['profile'] }

const text = { type: 'string', minLength: 1, maxLength: 1_000 }
const texts = { type: 'array', uniqueItems: true, items: text }
const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['origin', 'issuer', 'client_id', 'roles'],
  properties: {
    origin: text,
    issuer: text,
    client_id: text,
    client_secret_file: text,
    groups_claim: text,
    scopes: { ...texts, items: { type: 'string', pattern: '^[!#-[\\]-~]+$' } },
    roles: {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: Object.fromEntries(ROLES.map((role) => [role, texts])),
    },
  },
}

/**
 * Reads the file of a sign-in (YAML). Relative paths in it begin at its folder.
 *
 * @throws {AccessError} with everything that is wrong with it
 */
export function readAccess(file: string): Access {
  const value = parsed(file)
  const written = typeof value === 'object' && value !== null ? { ...DEFAULTS, ...value } : value
  // By default, it names the first eight.
  Settings.Set({ maxErrors: 1_000 })
  const errors = Compile(SCHEMA as never).Errors(written)
  const problems =
    errors.length > 0
      ? errors.flatMap(({ keyword, instancePath, message }) =>
          // The member itself is named too.
          keyword === 'additionalProperties'
            ? []
            : `${instancePath || '/'}: ${keyword === 'boolean' ? 'is no member' : message}`,
        )
      : [...problemsOf(written as Written)]
  if (problems.length > 0) throw new AccessError(`${file} is invalid:\n${problems.join('\n')}`)
  const { origin, issuer, client_id, client_secret_file, ...rest } = written as Written
  return {
    origin,
    issuer,
    clientId: client_id,
    clientSecret: client_secret_file
      ? secretIn(resolve(dirname(file), client_secret_file))
      : undefined,
    groupsClaim: rest.groups_claim,
    scopes: rest.scopes,
    groups: { viewer: [], support: [], admin: [], ...rest.roles },
  }
}

/** What the schema cannot say. */
function* problemsOf({ origin, issuer, roles }: Written): Generator<string> {
  if (!isExactOrigin(origin) || !isSecure(origin))
    yield '/origin: must be an origin with https, or of this machine, such as http://localhost:8450'
  if (!URL.canParse(issuer) || !isSecure(issuer)) yield '/issuer: must be an address with https'
  if (!Object.values(roles).some((groups) => groups.length > 0))
    yield '/roles: must name a group of your provider'
}

/**
 * Plain http is for this machine only. Browsers accept the cookie of a session there by the name
 * localhost.
 */
export function isSecure(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
}

function parsed(file: string): unknown {
  const written = textOf(file)
  try {
    return parse(written, { maxAliasCount: 0 })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new AccessError(`${file} cannot be read: ${reason}`, { cause })
  }
}

function secretIn(file: string): Secret {
  const secret = textOf(file).trim()
  if (secret === '') throw new AccessError(`${file} is empty. It must have the client secret.`)
  return new Secret(secret)
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new AccessError(`${file} cannot be read`, { cause })
  }
}
