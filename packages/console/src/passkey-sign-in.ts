import { createPublicKey } from 'node:crypto'
import { verifyWebAuthnAssertion, verifyWebAuthnRegistration } from '@bonded/attestation/webauthn'
import { decodeBase64url } from '@bonded/contract'
import { NO_TRUST } from '@bonded/server/adapters/attestation/webauthn/browser-key-verifier'
import {
  type Answer,
  ATTEMPT_COOKIE,
  type Call,
  cookie,
  redirect,
  SESSION_COOKIE,
} from './answer.ts'
import { type Attempt, ATTEMPT_SECONDS, Attempts } from './attempts.ts'
import { type Html, html } from './html.ts'
import { documentOf } from './layout.ts'
import { PASSKEY_SCRIPT } from './passkey-script.ts'
import type { Passkeys } from './passkeys.ts'
import { messagePage } from './pages/message.ts'
import { SCRIPT_POLICY } from './static-file.ts'
import { MESSAGES, type SignInMethod, type SignInParts } from './sign-in.ts'
import type { SignedIn } from './sessions.ts'

const ENROLL = '/enroll/'

/** Signs operators in by passkeys of this machine, which an address of the command line enrolls. */
export class PasskeySignIn implements SignInMethod {
  readonly #parts: SignInParts
  readonly #passkeys: Passkeys
  readonly #origin: string
  readonly #attempts: Attempts

  constructor(passkeys: Passkeys, given: SignInParts & { readonly origin: string }) {
    this.#parts = given
    this.#passkeys = passkeys
    this.#origin = given.origin
    this.#attempts = new Attempts(given.now)
  }

  async answer(call: Call): Promise<Answer | undefined> {
    const { method, url } = call
    const place = `${method} ${url.pathname}`
    if (place === `GET ${PASSKEY_SCRIPT.path}`) return PASSKEY_SCRIPT.answer
    if (place === 'GET /sign-in') return this.#ask(call)
    if (place === 'POST /passkey') return this.#finish(call)
    if (!url.pathname.startsWith(ENROLL)) return undefined
    const token = url.pathname.slice(ENROLL.length)
    const holder = this.#passkeys.invitation(token, this.#parts.now())
    if (holder === undefined) return this.#rejected('The address was used, or has expired.')
    return method === 'GET' ? this.#ask(call, holder.name) : this.#enroll(call, token)
  }

  /** Whether the passkey of a session is still enrolled, with the role of then. */
  isCurrent({ credentialId, role }: SignedIn): boolean {
    return credentialId !== undefined && this.#passkeys.find(credentialId)?.role === role
  }

  #ask({ url }: Call, name?: string): Answer {
    const value = this.#attempts.begin(url.searchParams)
    const challenge = this.#attempts.read(value)?.secret('challenge') ?? ''
    const body =
      name === undefined
        ? html`<p>Use a passkey that was enrolled on this machine.</p>
${form({ action: '/passkey', challenge, verb: 'Sign in with a passkey' })}
<p class="hint">You have none? Run <code>bonded console --enroll viewer --name your-name</code>.</p>`
        : html`<p>This creates a passkey for ${name}. The address works once.</p>
${form({ action: url.pathname, challenge, verb: 'Create a passkey', name })}`
    return {
      status: 200,
      headers: {
        'content-security-policy': SCRIPT_POLICY,
        'set-cookie': [cookie(ATTEMPT_COOKIE, value, ATTEMPT_SECONDS)],
      },
      body: documentOf({
        title: name === undefined ? 'Sign in' : 'Enroll a passkey',
        body: html`${body}<script src="${PASSKEY_SCRIPT.path}"></script>`,
        session: undefined,
        path: '',
      }),
    }
  }

  async #finish(call: Call): Promise<Answer> {
    const attempt = this.#attemptOf(call)
    const bytes = bytesIn(call, ['id', 'clientDataJSON', 'authenticatorData', 'signature'])
    if (attempt === undefined || bytes === undefined) return this.#rejected(MESSAGES.not_begun_here)
    const passkey = this.#passkeys.find(bytes.id)
    if (passkey === undefined)
      return this.#rejected('This passkey is not enrolled on this machine. Use another one.')
    const verified = verifyWebAuthnAssertion({
      publicKey: createPublicKey({
        key: Buffer.from(passkey.publicKey, 'base64url'),
        format: 'der',
        type: 'spki',
      }),
      backupEligible: passkey.backupEligible,
      clientDataJson: bytes.clientDataJSON,
      authenticatorData: bytes.authenticatorData,
      signature: bytes.signature,
      challenge: Buffer.from(attempt.secret('challenge'), 'base64url'),
      ...this.#place(),
    })
    const actor = { kind: 'console', name: passkey.name, address: call.address } as const
    const counter = verified.ok ? verified.value.counter : 0
    // A synced passkey has none. One that did not rise is of a copy.
    const isCopy = (counter > 0 || passkey.counter > 0) && counter <= passkey.counter
    if (!verified.ok || isCopy || !this.#attempts.use(call.cookies.get(ATTEMPT_COOKIE) ?? '')) {
      await this.#parts.record('console sign-in', actor, 'passkey_rejected')
      return this.#rejected(
        'The passkey does not verify. Usually the sign-in was opened again since then, or the console was restarted.',
      )
    }
    await this.#parts.record('console sign-in', actor)
    if (counter > passkey.counter) this.#passkeys.add(bytes.id, { ...passkey, counter })
    const { name: subject, role } = passkey
    const { sessions, now } = this.#parts
    const operator = { subject, issuer: undefined, label: subject, role, provedAt: now() }
    const id = sessions.begin({ ...operator, credentialId: bytes.id }, call.session)
    return redirect(attempt.to, [cookie(SESSION_COOKIE, id), cookie(ATTEMPT_COOKIE, '', 0)])
  }

  async #enroll(call: Call, token: string): Promise<Answer> {
    const { now, record } = this.#parts
    const attempt = this.#attemptOf(call)
    const bytes = bytesIn(call, ['id', 'clientDataJSON', 'attestationObject'])
    if (attempt === undefined || bytes === undefined)
      return this.#rejected('The page was too old. Open the address again.')
    const registered = verifyWebAuthnRegistration(
      {
        credentialId: bytes.id,
        clientDataJson: bytes.clientDataJSON,
        attestationObject: bytes.attestationObject,
        challenge: Buffer.from(attempt.secret('challenge'), 'base64url'),
        ...this.#place(),
        now: now(),
      },
      NO_TRUST,
    )
    if (!registered.ok)
      return this.#rejected('The passkey does not verify. Open the address again.')
    const holder = this.#passkeys.invitation(token, now())
    if (holder === undefined || !this.#passkeys.use(token))
      return this.#rejected('The address was used, or has expired.')
    const { name, role } = holder
    const { publicKey, backupEligible, counter } = registered.value
    await record('console enroll', { kind: 'console', name, address: call.address })
    this.#passkeys.add(bytes.id, {
      name,
      role,
      publicKey: publicKey.toString('base64url'),
      backupEligible,
      counter,
    })
    return redirect('/sign-in', [cookie(ATTEMPT_COOKIE, '', 0)])
  }

  #attemptOf({ cookies }: Call): Attempt | undefined {
    return this.#attempts.read(cookies.get(ATTEMPT_COOKIE) ?? '')
  }

  #place() {
    return { origin: this.#origin, rpId: new URL(this.#origin).hostname }
  }

  #rejected(text: string): Answer {
    const link = { to: '/sign-in', text: 'Sign in' }
    return messagePage({ status: 403, title: 'You are not signed in', text, link })
  }
}

const FIELDS = ['id', 'clientDataJSON', 'attestationObject', 'authenticatorData', 'signature']

function form(of: { action: string; challenge: string; verb: string; name?: string }): Html {
  const { action, challenge, verb, name } = of
  const fields = FIELDS.map((field) => html`<input type="hidden" name="${field}">`)
  return html`<form class="ask" method="post" action="${action}" data-challenge="${challenge}" data-name="${name}">
${fields}<button>${verb}</button></form><p role="status" class="bad"></p>`
}

/** These fields of a form as bytes; undefined if one is missing or is not base64url. */
function bytesIn<Name extends string>(
  { form: given }: Call,
  names: readonly Name[],
): Readonly<Record<Name, Uint8Array>> | undefined {
  const found = names.map((name) => [name, decodeBase64url(given.get(name) ?? '')] as const)
  return found.every(([, bytes]) => bytes !== undefined && bytes.length > 0)
    ? (Object.fromEntries(found) as Record<Name, Uint8Array>)
    : undefined
}
