import {
  DEVICE_TOKEN,
  type DeviceId,
  type Endpoint,
  isServerCredential,
  PORTAL_TOKEN,
  PUBLISHABLE_KEY,
  SERVER_CREDENTIAL,
  type TenantId,
} from '@bonded/contract'
import { accept, type Result, reject } from '../domain/rejection.ts'
import { allowsOrigin, isRevoked } from '../domain/tenant.ts'
import { timesOfToken } from './device/device-token.ts'
import type { BrowserCaller, Caller, Service } from './service.ts'
import { recordDeviceChange } from './device/record-device-change.ts'

/** What a request presents about its sender. */
export interface Presented {
  readonly authorization: string | undefined
  readonly origin: string | undefined
}

/** What an endpoint says about its callers. */
type AcceptedCallers = Pick<
  Endpoint,
  'callers' | 'ownOriginOnly' | 'serviceFrame' | 'acceptsExpiredToken'
>

/**
 * Identifies the caller (protocol 3). A credential of a kind that the endpoint does not accept is
 * `unauthorized`, like one that does not exist. An Origin that the credential does not allow is
 * `forbidden`. The first request with a new device token ends the old token.
 */
export async function authenticate(
  service: Service,
  presented: Presented,
  { callers, ownOriginOnly, serviceFrame, acceptsExpiredToken }: AcceptedCallers,
): Promise<Result<Caller>> {
  const { authorization, origin } = presented
  const anonymous: Result<Caller> =
    ownOriginOnly === true
      ? fromOwnOrigin(service, origin, { kind: 'anonymous' })
      : accept({ kind: 'anonymous' })
  // An endpoint that needs no credential ignores one.
  if (callers.every((caller) => caller === 'anonymous')) return anonymous
  if (authorization === undefined)
    return callers.includes('anonymous') ? anonymous : reject('credential_missing')

  const token = /^Bearer +([!-~]+)$/i.exec(authorization)?.[1] ?? ''
  const rejected = reject('credential_not_accepted')
  if (isServerCredential(token))
    return callers.includes('backend')
      ? backend(service, token, { origin, ownOriginOnly })
      : rejected
  if (PUBLISHABLE_KEY.test(token))
    return callers.includes('browser')
      ? browser(service, token, { origin, serviceFrame })
      : rejected
  if (DEVICE_TOKEN.test(token))
    return callers.includes('phone')
      ? phone(service, { token, origin, acceptsExpired: acceptsExpiredToken === true })
      : rejected
  if (PORTAL_TOKEN.test(token))
    return callers.includes('portal') ? portal(service, token, origin) : rejected
  return reject('credential_invalid')
}

/** A page that opens a channel. Without a key, its session's tenant decides about its origin. */
export type PageCaller = Pick<BrowserCaller, 'origin'> & {
  readonly key: BrowserCaller['key'] | null
}

/**
 * Identifies who opens a channel (protocol 9): a page by its Origin, and by its publishable key if
 * it offers one. An app sends no Origin, and a page of the service's own origin acts for a phone:
 * both are null, and the watch token alone admits them.
 */
export async function authenticateChannel(
  service: Service,
  { key, origin }: { readonly key: string | undefined; readonly origin: string | undefined },
): Promise<Result<PageCaller | null>> {
  if (origin === undefined || origin === service.settings.publicOrigin) return accept(null)
  if (key === undefined) return accept({ key: null, origin })
  return PUBLISHABLE_KEY.test(key)
    ? browser(service, key, { origin })
    : reject('credential_invalid')
}

/** Whether the page of an open channel could open it again now. */
export async function mayKeepChannel(
  service: Service,
  page: {
    readonly key: string | undefined
    readonly origin: string
    readonly tenantId: TenantId
  },
): Promise<boolean> {
  if (page.key !== undefined) return (await authenticateChannel(service, page)).ok
  const tenant = await service.store.read((tables) => tables.tenants.find(page.tenantId))
  return tenant !== undefined && allowsOrigin(tenant, page.origin)
}

async function backend(
  service: Service,
  token: string,
  { origin, ownOriginOnly }: { origin: string | undefined; ownOriginOnly: true | undefined },
): Promise<Result<Caller>> {
  const keyId = SERVER_CREDENTIAL.exec(token)?.[1] ?? ''
  const credential = await service.store.read((tables) =>
    tables.tenants.findServerCredential(keyId),
  )
  if (credential === undefined || !service.keys.same(service.keys.digest(token), credential.hash))
    return reject('credential_invalid')
  if (isRevoked(credential, service.clock.now())) return reject('credential_invalid')
  // A server credential in a page has leaked. Only some endpoints tolerate the tenant's own pages.
  if (origin !== undefined && (ownOriginOnly || !allowsOrigin(credential.tenant, origin)))
    return reject('origin_not_allowed')
  service.credentialUse.note(keyId, service.clock.now())
  return accept({ kind: 'backend', credential })
}

/** A link ends with its ten minutes, and with the credential of the backend that asked for it. */
async function portal(
  service: Service,
  token: string,
  origin: string | undefined,
): Promise<Result<Caller>> {
  const { clock, keys, store } = service
  const link = keys.readPortalToken(token)
  const now = clock.now()
  // Negated, so that NaN rejects the token.
  if (link === undefined || !(now < link.expiresAt)) return reject('credential_invalid')
  const credential = await store.read((tables) => tables.tenants.findServerCredential(link.keyId))
  if (credential === undefined || isRevoked(credential, now)) return reject('credential_invalid')
  return fromOwnOrigin(service, origin, { kind: 'portal', credential })
}

async function browser(
  service: Service,
  token: string,
  { origin, serviceFrame }: { origin: string | undefined; serviceFrame?: true | undefined },
): Promise<Result<BrowserCaller>> {
  const key = await service.store.read((tables) => tables.tenants.findPublishableKey(token))
  if (key === undefined || isRevoked(key, service.clock.now())) return reject('credential_invalid')
  // The key is public: only the Origin, which a browser sets, shows that it is the tenant's page.
  // The operation checks the origin of the page that shows the service's frame.
  const isFrame = serviceFrame === true && origin === service.settings.publicOrigin
  if (origin === undefined || !(isFrame || allowsOrigin(key.tenant, origin)))
    return reject('origin_not_allowed')
  return accept({ kind: 'browser', key, origin })
}

async function phone(
  service: Service,
  {
    token,
    origin,
    acceptsExpired,
  }: { token: string; origin: string | undefined; acceptsExpired: boolean },
): Promise<Result<Caller>> {
  const tokenId = DEVICE_TOKEN.exec(token)?.[1] ?? ''
  const found = await service.store.read((tables) => tables.devices.findByToken(tokenId))
  if (found === undefined || !service.keys.same(service.keys.digest(token), found.token.hash))
    return reject('credential_invalid')
  const { device, offered } = found
  if (device.status === 'removed') return reject('credential_invalid')
  const { issuedAt } = found.token
  const now = service.clock.now()
  // Negated, so that NaN rejects the token.
  const valid = now < timesOfToken(service, issuedAt).expiresAt
  if (!valid && !acceptsExpired) return reject('device_token_expired', { serverTime: now })
  if (offered && !(await beginToken(service, device.id, tokenId)))
    return reject('credential_invalid')
  return fromOwnOrigin(service, origin, { kind: 'phone', device, tokenIssuedAt: issuedAt })
}

/**
 * Ends the old token at the first use of a new one, which proves that the phone received it.
 *
 * @returns false if a newer token has been offered in between
 */
function beginToken(service: Service, id: DeviceId, tokenId: string): Promise<boolean> {
  return service.store.write(function* (tables) {
    const begun = yield* tables.devices.useToken(id, tokenId)
    if (begun === 'now')
      yield* recordDeviceChange(tables, id, {
        at: service.clock.now(),
        kind: 'token_rotated',
        step: null,
      })
    return begun !== 'never'
  })
}

/** Accepts no Origin, as an app sends it, or the service's own, whose page acts for a phone. */
function fromOwnOrigin(
  { settings }: Service,
  origin: string | undefined,
  caller: Caller,
): Result<Caller> {
  return origin === undefined || origin === settings.publicOrigin
    ? accept(caller)
    : reject('origin_not_allowed')
}
