import assert from 'node:assert/strict'
import type { Members } from '../encoding.ts'
import { type Answer, create, Probe, type Target } from './probe.ts'

export const CONTEXT = {
  display: [
    { label: 'Amount', value: '€12,500.00' },
    { label: 'Empfänger', value: 'Müller & Söhne “KG” 😀' },
  ],
  digest: 'uyIw1jr1qO_MPRXVCfjUlxvj39hwMqK1Pncr8MA9GQw',
}
export const UNKNOWN_NONCE = 'A'.repeat(43)

/** A registered phone, a session that it has claimed, and the evidence of it. */
export interface Claimed {
  readonly phone: Probe
  readonly session: Members
  readonly view: Members
}

export async function claimed(target: Target, context: Members | null = CONTEXT): Promise<Claimed> {
  const session = await create(target, context)
  const phone = await Probe.register(target)
  const { status, body: view } = await phone.claim(session)
  assert.equal(status, 200, `the claim: ${JSON.stringify(view)}`)
  return { phone, session, view }
}

export async function evidenced(target: Target): Promise<Claimed & { readonly evidence: Members }> {
  const of = await claimed(target)
  const { status, body } = await of.phone.evidence(of.view)
  assert.equal(status, 200, `the evidence: ${JSON.stringify(body)}`)
  return { ...of, evidence: body['verified_evidence'] }
}

/** A rejection with its reason (protocol 8). */
export function rejected({ status, body, headers }: Answer, reason: string, expected = 400): void {
  const { error } = body
  assert.equal(error?.reason, reason, `status ${status}`)
  assert.equal(status, expected)
  for (const name of ['code', 'message', 'requestId'])
    assert.equal(typeof error[name], 'string', `the error has no ${name}`)
  assert.equal(headers.get('x-request-id'), error.requestId)
}
