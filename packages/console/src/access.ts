import { dirname, resolve } from 'node:path'
import { readSettingsFile, textOf } from '@bonded/cli/program/settings-file'
import { SettingsFileError } from '@bonded/cli/program/settings-file-error'
import { isExactOrigin, Secret } from '@bonded/contract'
import { isThisMachine } from '@bonded/server/settings/this-machine'
import { type Static, Type } from 'typebox'
import type { Role } from './roles.ts'

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

const DEFAULTS = { groups_claim: 'groups', scopes: ['profile'] }

const Text = Type.String({ minLength: 1, maxLength: 1_000 })
const Groups = Type.Optional(Type.Array(Text, { uniqueItems: true }))
const closed = { additionalProperties: false }
const Written = Type.Object(
  {
    origin: Text,
    issuer: Text,
    client_id: Text,
    client_secret_file: Type.Optional(Text),
    groups_claim: Text,
    scopes: Type.Array(Type.String({ pattern: '^[!#-[\\]-~]+$' }), { uniqueItems: true }),
    roles: Type.Object(
      { viewer: Groups, support: Groups, admin: Groups } satisfies Record<Role, unknown>,
      { ...closed, minProperties: 1 },
    ),
  },
  closed,
)

/**
 * Reads the file of a sign-in. Relative paths in it begin at its folder.
 *
 * @throws {SettingsFileError} with everything that is wrong with it
 */
export function readAccess(file: string): Access {
  const { origin, issuer, client_id, client_secret_file, ...rest } = readSettingsFile(file, {
    schema: Written,
    defaults: DEFAULTS,
    problemsOf,
  })
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
function* problemsOf({ origin, issuer, roles }: Static<typeof Written>): Generator<string> {
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
  return protocol === 'https:' || isThisMachine(hostname)
}

function secretIn(file: string): Secret {
  const secret = textOf(file).trim()
  if (secret === '')
    throw new SettingsFileError(`${file} is empty. It must have the client secret.`)
  return new Secret(secret)
}
