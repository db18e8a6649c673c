// What every program has already: a sign-in, drafts, and the protected action.
// Replace the maps by your database.
import { randomUUID } from 'node:crypto'
import process from 'node:process'

const { BONDED_ORIGIN, BONDED_SERVER_CREDENTIAL } = process.env

export const service = {
  baseUrl: BONDED_ORIGIN,
  serverCredential: BONDED_SERVER_CREDENTIAL,
}

const MAX_DRAFTS = 1_000
const PURPOSES = ['car', 'home', 'other']
const drafts = new Map()
const applications = []

/** The login of a browser, from its cookies. */
export const loginOf = (cookies) => /(?:^|; )login=([0-9a-f-]{36})(?:;|$)/.exec(cookies ?? '')?.[1]
export const draftOf = (login) => drafts.get(login)
export const display = ({ amount, purpose, note }) => [
  { label: 'Amount', value: `€${amount}` },
  { label: 'Loan for', value: purpose },
  { label: 'Note', value: note },
]

/** The protected action. */
export async function save(form) {
  return `A-${applications.push(form)}`
}

/** Stores what the user is about to submit, and gives a new browser its login. */
export function saveDraft(cookies, fields) {
  const { amount, purpose, note = '' } = fields ?? {}
  const isValid =
    Number.isInteger(amount) &&
    amount >= 1 &&
    amount <= 100_000 &&
    PURPOSES.includes(purpose) &&
    typeof note === 'string'
  if (!isValid)
    return {
      status: 400,
      headers: {},
      body: { error: { message: 'Check the fields of the form.' } },
    }
  const login = loginOf(cookies) ?? randomUUID()
  if (drafts.size >= MAX_DRAFTS) drafts.delete(drafts.keys().next().value)
  drafts.set(login, { amount, purpose, note })
  const cookie = `login=${login}; Path=/; HttpOnly; SameSite=Lax`
  return { status: 200, headers: { 'set-cookie': cookie }, body: { saved: true } }
}
