import {
  DEVICE_TOKEN,
  type DeviceId,
  type Endpoint,
  isServerCredential,
  PUBLISHABLE_KEY,
  SERVER_CREDENTIAL,
} from '@bonded/contract'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import { allowsOrigin, isRevoked } from '../domain/tenant.ts'
import type { Caller, Service } from './service.ts'
import { recordDeviceChange } from './record-device-change.ts'

/** What a request shows of its sender. */
export interface Presented {
  readonly authorization: string | undefined
  readonly origin: string | undefined
}

/**
 * Who is calling (protocol 3). A credential of a kind that the endpoint does not take is `unauthorized`, as one
 * that does not exist is; an Origin that the credential does not allow is `forbidden`.
 */
export async function authenticate(
  service: Service,
  presented: Presented,
  { callers, ownOriginOnly }: Pick<Endpoint, 'callers' | 'ownOriginOnly'>,
): Promise<Result<Caller>> {
  const { authorization, origin } = presented
  const anybody: Result<Caller> =
    ownOriginOnly === true
      ? fromOwnOrigin(service, origin, { kind: 'anybody' })
      : accept({ kind: 'anybody' })
  // Where nobody needs a credential, one that is sent along is not looked at.
  if (callers.every((caller) => caller === 'anybody')) return anybody
  if (authorization === undefined)
    return callers.includes('anybody') ? anybody : refuse('credential_missing')

  const token = /^Bearer +([!-~]+)$/i.exec(authorization)?.[1] ?? ''
  const no = refuse('credential_not_accepted')
  if (isServerCredential(token))
    return callers.includes('backend') ? backend(service, token, origin) : no
  if (PUBLISHABLE_KEY.test(token))
    return callers.includes('browser') ? browser(service, token, origin) : no
  if (DEVICE_TOKEN.test(token))
    return callers.includes('phone') ? phone(service, token, origin) : no
  return refuse('credential_invalid')
}

async function backend(
  service: Service,
  token: string,
  origin: string | undefined,
): Promise<Result<Caller>> {
  const keyId = SERVER_CREDENTIAL.exec(token)?.[1] ?? ''
  const credential = await service.store.read((tables) =>
    tables.tenants.findServerCredential(keyId),
  )
  if (credential === undefined || !service.keys.same(service.keys.digest(token), credential.hash))
    return refuse('credential_invalid')
  if (isRevoked(credential, service.clock.now())) return refuse('credential_invalid')
  if (origin !== undefined && !allowsOrigin(credential.tenant, origin))
    return refuse('origin_not_allowed')
  return accept({ kind: 'backend', credential })
}

async function browser(
  service: Service,
  token: string,
  origin: string | undefined,
): Promise<Result<Caller>> {
  const key = await service.store.read((tables) => tables.tenants.findPublishableKey(token))
  if (key === undefined || isRevoked(key, service.clock.now())) return refuse('credential_invalid')
  // The key is public: only the Origin a browser vouches for says that the tenant's own page shows it.
  if (origin === undefined || !allowsOrigin(key.tenant, origin)) return refuse('origin_not_allowed')
  return accept({ kind: 'browser', key, origin })
}

async function phone(
  service: Service,
  token: string,
  origin: string | undefined,
): Promise<Result<Caller>> {
  const tokenId = DEVICE_TOKEN.exec(token)?.[1] ?? ''
  const found = await service.store.read((tables) => tables.devices.findByToken(tokenId))
  if (found === undefined || !service.keys.same(service.keys.digest(token), found.tokenHash))
    return refuse('credential_invalid')
  if (found.device.status === 'removed') return refuse('credential_invalid')
  if (found.offered && !(await beginToken(service, found.device.id, tokenId)))
    return refuse('credential_invalid')
  return fromOwnOrigin(service, origin, { kind: 'phone', device: found.device })
}

/** The first use of a new token ends the old one: the phone has it. False where a still newer one was offered meanwhile. */
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

/** An app sends no Origin; a page that speaks for a phone is the service's own. */
function fromOwnOrigin(
  { settings }: Service,
  origin: string | undefined,
  caller: Caller,
): Result<Caller> {
  return origin === undefined || origin === settings.publicOrigin
    ? accept(caller)
    : refuse('origin_not_allowed')
}
