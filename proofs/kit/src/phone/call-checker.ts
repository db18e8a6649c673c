import type { KeyObject } from 'node:crypto'
import { hashOf, idOf, jcs, type Members, sha, sha256 } from '../encoding.ts'
import { faultsOf, readPublicKey } from '../software-key.ts'
import type { Call } from './double.ts'

/** Of a clock that counts in milliseconds, and of a response that was on its way. */
const CLOCK_TOLERANCE_MS = 2_000

const SIGNED = ['session_id', 'nonce', 'device_id', 'subject_id', 'issued_at', 'app_attest']
/** The members of a body: those that it must have, and those that it may have. */
const BODIES: Readonly<Record<Call['name'], readonly [string[], string[]]>> = {
  challenge: [[], []],
  invitation: [[], []],
  register: [['format', 'challenge', 'public_key'], []],
  token: [['issued_at', 'app_attest'], []],
  claim: [['nonce', 'device_id'], ['shows']],
  read: [[], []],
  decline: [['nonce', 'device_id', 'reason'], []],
  evidence: [[...SIGNED, 'signals'], []],
  attest: [[...SIGNED, 'verified_evidence'], ['shows']],
}

/** Compares what a phone sends with the protocol page, and verifies its signatures. */
export class CallChecker {
  /** Each begins with the section that the phone has not kept. */
  readonly faults: string[] = []
  /** The last view that the phone has received. */
  view: Members = {}
  /** The summary that the phone has to relay. */
  evidence: unknown
  #challenge = ''
  #devices = 0
  #tokens: string[] = []
  #key: KeyObject | undefined
  #key_id = ''
  #counter = 0
  /** The last assertion. The same bytes again are a repetition. */
  #attested: string | undefined

  begin(scanned: Members): void {
    this.faults.length = 0
    this.view = scanned
    this.#attested = undefined
    this.evidence = undefined
  }

  newChallenge(expires_at: string): Members {
    this.#challenge = sha(`challenge ${this.#devices} ${this.#tokens.length}`)
    return { challenge: this.#challenge, expires_at, rp_id: '127.0.0.1' }
  }

  newToken(renewAt: string): Members {
    const token = `dt_0123456789_${sha(`token ${this.#devices} ${this.#tokens.length}`)}`
    this.#tokens.push(token)
    return {
      ...this.#ids(),
      key_id: this.#key_id,
      format: 'software',
      environment: 'sandbox',
      device_token: token,
      device_token_renew_at: renewAt,
      device_token_expires_at: '2099-01-01T00:00:00.000Z',
    }
  }

  /** Whether a token is the last of several that the device got. */
  isRenewed(token: string | undefined): boolean {
    return this.#tokens.length > 1 && token === this.#tokens.at(-1)
  }

  parse(text: string): Members {
    try {
      return text === '' ? {} : (Object(JSON.parse(text)) as Members)
    } catch {
      this.#fault('1: a body is not JSON')
      return {}
    }
  }

  /** Checks a call before the service answers it. */
  check({ name, body, text, bearer }: Call, origin: string, nowMs: number): void {
    if (name === 'attest' && text === this.#attested) return
    if (name === 'attest') this.#attested = text
    const [required, optional] = BODIES[name]
    const unknown = Object.keys(body).filter((one) => ![...required, ...optional].includes(one))
    const missing = required.filter((one) => body[one] === undefined)
    if (unknown.length > 0) this.#fault(`1: the body of ${name} has ${unknown.join()}`)
    if (missing.length > 0) this.#fault(`1: the body of ${name} lacks ${missing.join()}`)
    if (name === 'register') this.#register(body)
    if (name === 'register' || name === 'challenge' || name === 'invitation') return
    if (bearer === undefined || !this.#tokens.slice(-2).includes(bearer))
      this.#fault(`3: ${name} has not the token of the device`)
    const { device_id, subject_id } = this.#ids()
    if (name !== 'token' && name !== 'read' && body['device_id'] !== device_id)
      this.#fault(`6: device_id of ${name} is not the one of the registration`)
    const { issued_at } = body
    const about = { device_id, subject_id, issued_at, origin }
    if (name === 'token') this.#signed(name, body, { typ: 'bonded-device-token/v1', ...about })
    const isTimed = name === 'evidence' || name === 'attest'
    if (required.includes('nonce') && body['nonce'] !== this.view['nonce'])
      this.#fault(`4: the nonce of ${name} is not the last one that the phone has received`)
    if (!isTimed) return
    this.#timed(name, String(issued_at), nowMs)
    const { id: session_id, nonce, tenant_id, workflow, action, context } = this.view
    const common = { session_id, nonce, device_id, subject_id, issued_at }
    if (name === 'evidence') {
      const signals = hashOf(body['signals'])
      this.#signed(name, body, { typ: 'bonded-evidence-request/v1', ...common, signals })
      if (body['signals']?.local_auth === undefined) this.#fault('7: the signals lack local_auth')
      return
    }
    if (jcs(body['verified_evidence']) !== jcs(this.evidence))
      this.#fault('1: verified_evidence is not relayed with every member, unchanged')
    this.#signed(name, body, {
      typ: 'bonded-assertion/v1',
      ...common,
      tenant_id,
      workflow,
      action,
      origin,
      context: hashOf(context),
      evidence: hashOf(this.evidence),
    })
  }

  #register({ challenge, public_key }: Members): void {
    this.#key = readPublicKey(public_key)
    this.#key_id = sha256(Buffer.from(String(public_key), 'base64url')).toString('base64url')
    this.#devices++
    this.#tokens = []
    this.#counter = 0
    if (challenge !== this.#challenge) this.#fault('6: the challenge is not the one of the service')
    if (this.#key === undefined) this.#fault('6: public_key is not a P-256 key as SPKI')
  }

  #signed(name: string, { app_attest }: Members, members: Members): void {
    if (this.#key === undefined) return this.#fault(`6: ${name} comes before a registration`)
    const payload = jcs(members)
    const { counter, faults } = faultsOf(app_attest, {
      key: this.#key,
      key_id: this.#key_id,
      payload,
    })
    for (const fault of faults) this.#fault(`5: ${name}: ${fault}`)
    if (counter <= this.#counter)
      this.#fault(`5: ${name}: the counter ${counter} follows ${this.#counter}`)
    this.#counter = Math.max(this.#counter, counter)
  }

  #timed(name: string, issuedAt: string, nowMs: number): void {
    const at = Date.parse(issuedAt)
    const known = Date.parse(this.view['server_time'])
    if (!(at >= known - CLOCK_TOLERANCE_MS && at <= nowMs + CLOCK_TOLERANCE_MS))
      this.#fault(`1: issued_at of ${name} is not server_time and the time since: ${issuedAt}`)
  }

  #ids(): { readonly device_id: string; readonly subject_id: string } {
    const number = this.#devices
    return { device_id: idOf('dev', `device ${number}`), subject_id: idOf('sub', `user ${number}`) }
  }

  #fault(fault: string): void {
    this.faults.push(fault)
  }
}
