import { createHmac, createPublicKey, randomBytes } from 'node:crypto'
import {
  type AppAttest,
  assertionPayload,
  type BondedPairAssertion,
  deviceAddPayload,
  deviceRemovePayload,
  deviceTokenPayload,
  evidenceMacInput,
  evidenceRequestPayload,
  type EvidenceRequest,
  type PhoneSession,
  type RegisterDeviceRequest,
  type RotateTokenRequest,
  wordsToShow,
} from '@bonded/contract'
import type { RequestLike } from '../src/index.ts'
import {
  responseOf,
  type Device,
  type Fault,
  newId,
  newSession,
  nonceOf,
  ORIGIN,
  Rejected,
  rejection,
  sha,
  statusOf,
  summarize,
  TOKEN_TTL_MS,
  tokenTimes,
  verifySignature,
} from './fake-records.ts'
import type { FakeService } from './fake-service-controls.ts'

export type { FakeService } from './fake-service-controls.ts'
export { ORIGIN, TOKEN_TTL_MS } from './fake-records.ts'

export function fakeService(origin = ORIGIN): FakeService {
  const id = newId('sess')
  const nonce = nonceOf(id)
  const devices = new Map<string, Device>()
  const challenges = new Set<string>()
  const faults: { pathEnd: string; fault: Fault }[] = []
  const requests: FakeService['requests'][number][] = []
  const counters: number[] = []
  let nowMs = Date.parse('2026-11-21T09:30:00.000Z')
  let claimedBy: string | undefined
  let valid = 0
  let bondedWith: string | undefined
  let holding: (() => void)[] = []
  const lastOf = {
    require: [] as readonly string[],
    evidenceTtlMs: 120_000,
    evidenceExtra: {} as Record<string, unknown>,
  }
  let session = newSession({ id, nonce, origin, nowMs })
  const move = (next: Partial<PhoneSession>) => {
    session = { ...session, ...next, seq: session.seq + 1 }
    for (const release of holding) release()
    holding = []
  }
  const view = (): PhoneSession => ({
    ...session,
    server_time: new Date(nowMs).toISOString(),
    expires_in_ms: Math.max(0, Date.parse(session.expires_at) - nowMs),
    challenge_expires_in_ms: 0,
    challenge_rotates_in_ms: 0,
    ...(claimedBy === undefined ? {} : { watch_token: `bwt_${nonceOf('watch')}` }),
  })

  const deviceOf = (request: RequestLike): Device => {
    const token = request.headers.authorization?.replace('Bearer ', '')
    const device = [...devices.values()].find(
      ({ device_token, offered_token }) => device_token === token || offered_token === token,
    )
    // The first use of a new token ends the old one.
    if (device?.offered_token !== undefined && device.offered_token === token) {
      if (device.device_token !== token) device.expires_ms = nowMs + TOKEN_TTL_MS
      device.device_token = device.offered_token
    }
    if (device === undefined) throw new Rejected('credential_invalid')
    return device
  }
  const admit = (device: Device, body: { nonce: string; device_id: string }) => {
    if (session.state !== 'pending' && session.state !== 'step_up_required')
      throw new Rejected('session_not_live')
    if (body.nonce !== session.nonce)
      throw new Rejected(body.nonce === nonce ? 'challenge_expired' : 'nonce_mismatch')
    if (body.device_id !== device.device_id) throw new Rejected('device_not_usable')
    if (claimedBy !== undefined && claimedBy !== device.device_id)
      throw new Rejected('session_claimed')
  }
  const admitShown = (shows: readonly string[] = []) => {
    if (!wordsToShow(session.context).every((word) => shows.includes(word)))
      throw new Rejected('key_format_not_accepted', 'shows')
  }
  const verifyTime = (issued_at: string) => {
    const at = Date.parse(issued_at)
    if (at < nowMs - 120_000 || at > nowMs + 30_000) throw new Rejected('issued_at_out_of_range')
  }
  const verify = (device: Device, payload: string, attest: AppAttest) => {
    verifySignature(device, { payload, attest })
    counters.push(device.counter)
  }
  const mac = (device: Device, withNonce: string, evidence: object) =>
    createHmac('sha256', 'key')
      .update(
        evidenceMacInput(
          {
            session_id: id,
            nonce: withNonce,
            device_id: device.device_id,
            subject_id: device.subject_id,
            tenant_id: session.tenant_id,
          },
          evidence,
        ),
      )
      .digest('base64url')

  const evidence = (device: Device, body: EvidenceRequest) => {
    admit(device, body)
    verifyTime(body.issued_at)
    if (body.app_attest === undefined) throw new Rejected('missing_member')
    verify(device, evidenceRequestPayload({ ...body, signals: sha(body.signals) }), body.app_attest)
    const summary = summarize(body, { nowMs, ttlMs: lastOf.evidenceTtlMs })
    const unsigned = { ...summary, ...lastOf.evidenceExtra }
    return { verified_evidence: { ...unsigned, signature: mac(device, body.nonce, unsigned) } }
  }
  const attest = (device: Device, body: BondedPairAssertion) => {
    const { workflow, action, tenant_id, context } = session
    const payload = assertionPayload({
      ...body,
      tenant_id,
      workflow,
      action,
      origin,
      context: context && sha(context),
      evidence: sha(body.verified_evidence),
      browser_key: body.browser_key && sha(body.browser_key),
    })
    if (bondedWith === `${device.device_id} ${payload}`) return view()
    admit(device, body)
    admitShown(body.shows)
    verifyTime(body.issued_at)
    verify(device, payload, body.app_attest)
    if (mac(device, body.nonce, body.verified_evidence) !== body.verified_evidence.signature)
      throw new Rejected('assertion_invalid')
    if (Date.parse(body.verified_evidence.expires_at) <= nowMs)
      throw new Rejected('evidence_expired')
    valid++
    const { local_auth, sensor_continuity } = body.verified_evidence
    const unmet = lastOf.require.filter((kind) =>
      kind === 'browser'
        ? false
        : kind === 'local_auth'
          ? local_auth.result !== 'verified'
          : kind !== 'sensor_continuity' || sensor_continuity.continuity_score < 0.6,
    )
    if (unmet.length === 0) {
      bondedWith = `${device.device_id} ${payload}`
      const required = lastOf.require.filter((kind) => kind === 'browser')
      // No new nonce: the phone has nothing more to sign.
      if (required.length === 0) move({ state: 'bonded', step_up: null })
      else
        move({
          state: 'step_up_required',
          step_up: { required, attempts_left: 3 - valid, reasons: ['browser_not_confirmed'] },
        })
    } else if (valid === 3) {
      move({ state: 'killed' })
      throw new Rejected('policy_not_met')
    } else
      move({
        state: 'step_up_required',
        nonce: nonceOf(`${id} s${valid}`),
        step_up: { required: [...unmet], attempts_left: 3 - valid, reasons: [] },
      })
    return view()
  }

  /** The device whose token came along; it must have signed the registration. */
  const approverOf = (request: RequestLike, body: Record<string, unknown>) => {
    if (request.headers.authorization === undefined) return undefined
    const { approval, ...registration } = body as unknown as RegisterDeviceRequest
    const device = deviceOf(request)
    if (approval === undefined) throw new Rejected('key_approval_required')
    const { device_id, subject_id } = device
    verifyTime(approval.issued_at)
    const payload = deviceAddPayload({
      challenge: registration.challenge,
      format: registration.format,
      registration: sha(registration),
      device_id,
      subject_id,
      issued_at: approval.issued_at,
      origin,
    })
    verify(device, payload, approval.app_attest)
    return device
  }
  const listOf = ({ subject_id }: Device) => ({
    server_time: new Date(nowMs).toISOString(),
    subject_id,
    keys: [...devices.values()]
      .filter((device) => device.subject_id === subject_id)
      .map(({ device_id, added_by }) => ({
        device_id,
        format: 'software',
        environment: 'sandbox',
        status: 'active',
        created_at: new Date(nowMs).toISOString(),
        last_assertion_at: null,
        browser_key: null,
        added_by,
        also_removes: [],
      })),
  })
  const remove = (device: Device, path: string, body: Record<string, unknown>) => {
    const removed_device_id = path.split('/').at(-2) ?? ''
    const found = [...devices].find(([, { device_id }]) => device_id === removed_device_id)
    if (found?.[1].subject_id !== device.subject_id) throw new Rejected('device_not_found')
    const { issued_at, app_attest } = body as unknown as RotateTokenRequest
    verifyTime(issued_at)
    const { device_id, subject_id } = device
    const payload = deviceRemovePayload({
      removed_device_id,
      device_id,
      subject_id,
      issued_at,
      origin,
    })
    verify(device, payload, app_attest)
    devices.delete(found[0])
    return undefined
  }

  const serve = async (
    method: string,
    path: string,
    request: RequestLike,
  ): Promise<{ status: number; body: unknown }> => {
    const [bare = '', query = ''] = path.split('?')
    const body =
      request.body === undefined ? {} : (JSON.parse(request.body) as Record<string, unknown>)
    const ok = (response: unknown, status = 200) => ({ status, body: structuredClone(response) })
    if (bare === '/api/v1/devices/challenges' && method === 'POST') {
      const challenge = randomBytes(32).toString('base64url')
      challenges.add(challenge)
      const expires_at = new Date(nowMs + 300_000).toISOString()
      return ok({ challenge, expires_at, rp_id: new URL(origin).hostname }, 201)
    }
    if (bare === '/api/v1/devices' && method === 'POST') {
      const approver = approverOf(request, body)
      const { format = '', challenge = '', public_key = '' } = body as Record<string, string>
      if (format !== 'software' || !challenges.delete(challenge))
        throw new Rejected('challenge_not_usable')
      if (devices.has(public_key)) throw new Rejected('key_already_registered')
      const key = createPublicKey({
        key: Buffer.from(public_key, 'base64url'),
        format: 'der',
        type: 'spki',
      })
      const device_token = `dt_0123456789_${nonceOf(public_key)}`
      const device = {
        device_id: newId('dev'),
        subject_id: approver?.subject_id ?? newId('sub'),
        added_by: approver?.device_id ?? null,
        device_token,
        expires_ms: nowMs + TOKEN_TTL_MS,
        offered_token: undefined,
        key,
        counter: 0,
      }
      devices.set(public_key, device)
      const { device_id, subject_id } = device
      return ok(
        {
          device_id,
          subject_id,
          device_token,
          ...tokenTimes(nowMs),
          key_id: 'key',
          format,
          environment: 'sandbox',
        },
        201,
      )
    }
    const device = deviceOf(request)
    if (nowMs >= device.expires_ms && !bare.endsWith('/token'))
      throw new Rejected('device_token_expired')
    if (bare === '/api/v1/devices') return ok(listOf(device))
    if (bare.endsWith('/removal')) return { status: 204, body: remove(device, bare, body) }
    if (bare === '/api/v1/evidence') return ok(evidence(device, body as unknown as EvidenceRequest))
    if (bare === '/api/v1/attestations')
      return ok(attest(device, body as unknown as BondedPairAssertion))
    if (bare === `/api/v1/devices/${device.device_id}/token`) {
      const { issued_at, app_attest } = body as unknown as RotateTokenRequest
      verifyTime(issued_at)
      const { device_id, subject_id } = device
      verify(device, deviceTokenPayload({ device_id, subject_id, issued_at, origin }), app_attest)
      device.offered_token = `dt_0123456789_${nonceOf(`${device_id} ${device.counter}`)}`
      return ok({ device_id, device_token: device.offered_token, ...tokenTimes(nowMs) }, 201)
    }
    if (!bare.startsWith(`/api/v1/sessions/${id}`)) throw new Rejected('session_not_live')
    if (method === 'GET') {
      const parameters = new URLSearchParams(query)
      if (claimedBy !== device.device_id || parameters.get('nonce') !== nonce)
        throw new Rejected('session_not_found')
      if (parameters.has('wait_ms') && Number(parameters.get('after')) >= session.seq)
        await new Promise<void>((resolve) => holding.push(resolve))
      return ok(view())
    }
    const phone = body as { nonce: string; device_id: string; reason: string; shows?: string[] }
    admit(device, phone)
    if (bare.endsWith('/claim')) admitShown(phone.shows)
    if (bare.endsWith('/decline')) move({ state: 'killed' })
    else if (claimedBy === undefined) {
      claimedBy = device.device_id
      move({})
    }
    return ok(view())
  }

  return {
    async fetch(url, request) {
      const path = url.slice(origin.length)
      if (!url.startsWith(`${origin}/`)) throw new TypeError('another origin')
      const raw = request.body
      requests.push({
        method: request.method,
        path,
        raw,
        body: raw === undefined ? undefined : JSON.parse(raw),
        authorization: request.headers.authorization,
      })
      const called = `${request.method} ${path.split('?')[0] ?? ''}`
      const index = faults.findIndex(({ pathEnd }) => called.endsWith(pathEnd))
      const [found] = index < 0 ? [] : faults.splice(index, 1)
      if (found?.fault === 'unsent') throw new TypeError('fetch failed')
      if (typeof found?.fault === 'object')
        return rejection(found.fault.status, found.fault.reason, { ...found.fault, nowMs })
      const response = await serve(request.method, path, request).then(
        ({ status, body }) => responseOf(status, body),
        (error: unknown) => {
          if (error instanceof Rejected)
            return rejection(statusOf(error.reason), error.reason, { nowMs, param: error.param })
          throw error
        },
      )
      if (found?.fault === 'no_response') throw new TypeError('socket hang up')
      if (found?.fault === 'timed_out') return rejection(503, 'operation_timeout', { nowMs })
      return response
    },
    requests,
    counters,
    get session() {
      return view()
    },
    payload: session.qr_payload,
    link: session.universal_link,
    get nowMs() {
      return nowMs
    },
    set nowMs(value) {
      nowMs = value
    },
    get require() {
      return lastOf.require
    },
    set require(value) {
      lastOf.require = value
    },
    get evidenceTtlMs() {
      return lastOf.evidenceTtlMs
    },
    set evidenceTtlMs(value) {
      lastOf.evidenceTtlMs = value
    },
    get evidenceExtra() {
      return lastOf.evidenceExtra
    },
    set evidenceExtra(value) {
      lastOf.evidenceExtra = value
    },
    fail: (pathEnd, ...next) => void faults.push(...next.map((fault) => ({ pathEnd, fault }))),
    change: move,
    release() {
      for (const done of holding) done()
      holding = []
    },
    deleteDevices: () => devices.clear(),
  }
}
