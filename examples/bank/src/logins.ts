import { randomBytes } from 'node:crypto'
import type { LoanRequest } from './loan-form.ts'

/** A browser that opened the form. A bank with accounts has its signed-in user here. */
export interface Login {
  /** The owner of its bonds. It differs from the cookie, so that a leaked row is not a login. */
  readonly id: string
  readonly cookie: string
  /**
   * The checked application of this browser. The bank keeps it, so that the page cannot choose what
   * a phone signs.
   */
  draft: LoanRequest | undefined
  /** The workflow of each session that this login started lately, by session id. */
  readonly sessions: Map<string, string>
}

const COOKIE = 'bank_login'
/** A limit, because opening the page is free and memory is not. The bank drops the oldest first. */
const MAX_LOGINS = 10_000
/** More than a browser has open. */
const MAX_SESSIONS = 20

/** Creates the store of browser logins. */
export function createLogins() {
  const byCookie = new Map<string, Login>()

  return {
    /** The login that a Cookie header names. */
    find(header: string | undefined): Login | undefined {
      const [, cookie = ''] =
        new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{43})(?:;|$)`).exec(header ?? '') ?? []
      return byCookie.get(cookie)
    },

    open(): Login {
      const [oldest] = byCookie.keys()
      if (oldest !== undefined && byCookie.size >= MAX_LOGINS) byCookie.delete(oldest)
      const login = {
        id: `login_${randomBytes(12).toString('hex')}`,
        cookie: randomBytes(32).toString('base64url'),
        draft: undefined,
        sessions: new Map<string, string>(),
      }
      byCookie.set(login.cookie, login)
      return login
    },

    /** Stores that a login started a session. */
    addSession(login: Login, session: { readonly id: string; readonly workflow: string }): void {
      login.sessions.set(session.id, session.workflow)
      const [oldest] = login.sessions.keys()
      if (oldest !== undefined && login.sessions.size > MAX_SESSIONS) login.sessions.delete(oldest)
    },

    /** Ends a login and deletes its form. Its cookie is unknown from now on. */
    end(login: Login): void {
      login.draft = undefined
      byCookie.delete(login.cookie)
    },
  }
}

export type Logins = ReturnType<typeof createLogins>

/** Sets no `Secure`, because the example runs on http://localhost. A real bank sets it. */
export function setCookie(login: Login): string {
  return `${COOKIE}=${login.cookie}; Path=/; HttpOnly; SameSite=Strict`
}
