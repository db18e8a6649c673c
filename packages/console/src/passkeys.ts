import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Role } from './roles.ts'

/** Long enough to copy an address into a browser. */
const INVITATION_MS = 10 * 60_000
/** The base64url of 32 bytes. */
const TOKEN = /^[\w-]{43}$/

/** Whom an invitation, or a passkey, is for. */
interface Holder {
  readonly name: string
  readonly role: Role
}

interface Invitation extends Holder {
  readonly expiresAt: number
}

/** A passkey that may sign in. */
interface Passkey extends Holder {
  /** SPKI, DER, base64url. */
  readonly publicKey: string
  readonly backupEligible: boolean
  readonly counter: number
}

/**
 * The passkeys of one machine: each is a file of the data folder, which only its account reads. An
 * operator removes a passkey by deleting its file.
 */
export class Passkeys {
  readonly #folder: string

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'console')
  }

  /** @returns the secret of the address that enrolls one passkey */
  invite(holder: Holder, now: number): string {
    const token = randomBytes(32).toString('base64url')
    const invitation: Invitation = { ...holder, expiresAt: now + INVITATION_MS }
    this.#write(invitationFile(token), invitation)
    return token
  }

  /** Whom an invitation is for; undefined if it was used, has expired, or does not exist. */
  invitation(token: string, now: number): Holder | undefined {
    const found = TOKEN.test(token) ? this.#read<Invitation>(invitationFile(token)) : undefined
    return found !== undefined && now < found.expiresAt ? found : undefined
  }

  /** Of two concurrent uses of an invitation, one gets true: it deletes the file. */
  use(token: string): boolean {
    try {
      unlinkSync(join(this.#folder, invitationFile(token)))
      return true
    } catch {
      return false
    }
  }

  add(credentialId: Uint8Array, passkey: Passkey): void {
    this.#write(keyFile(credentialId), passkey)
  }

  find(credentialId: Uint8Array): Passkey | undefined {
    return this.#read<Passkey>(keyFile(credentialId))
  }

  #read<T>(name: string): T | undefined {
    const file = join(this.#folder, name)
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined
  }

  /** A reader sees the whole file, or none. */
  #write(name: string, value: object): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const file = join(this.#folder, name)
    const part = `${file}.${randomBytes(8).toString('hex')}.part`
    writeFileSync(part, `${JSON.stringify(value)}\n`, { mode: 0o600, flag: 'wx' })
    renameSync(part, file)
  }
}

function invitationFile(token: string): string {
  return `invitation-${hashOf(Buffer.from(token))}.json`
}

function keyFile(credentialId: Uint8Array): string {
  return `passkey-${hashOf(credentialId)}.json`
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}
