import { createPrivateKey, randomUUID, sign } from 'node:crypto'
import { type CibaSecrets, type ClientAuthentication, ISSUER } from './ciba-clients.ts'
import { inTurns, respondToTasks, send } from './http-calls.ts'
import type { Ready } from './process.ts'

/** The calls of the peer's flow, in order. */
export const CIBA_STEPS = ['create', 'approve', 'token'] as const

/** Sends one call of many flows at once. The next task continues with the same flows. */
interface CibaTask extends Ready {
  readonly step: (typeof CIBA_STEPS)[number]
  readonly client: ClientAuthentication
  readonly flows: number
  readonly callers: number
}

let requests: string[] = []

respondToTasks(async ({ step, client, flows, callers, port, credential }: CibaTask) => {
  const secrets = JSON.parse(credential) as CibaSecrets
  const post = (path: string, form: Record<string, string>) =>
    postAs(client, secrets, { port, path, form })
  if (step === 'create') {
    requests = []
    await inTurns(Array.from({ length: flows }), callers, async (_, index) => {
      const response = await post('/backchannel', { scope: 'openid', login_hint: `user-${index}` })
      requests[index] = (JSON.parse(response) as { auth_req_id: string }).auth_req_id
    })
  }
  if (step === 'approve') {
    const headers = { 'content-type': 'application/json' }
    await inTurns(requests, callers, async (auth_req_id) => {
      await send({
        port,
        method: 'POST',
        path: '/approve',
        headers,
        payload: JSON.stringify({ auth_req_id }),
      })
    })
  }
  if (step === 'token') {
    await inTurns(requests, callers, async (auth_req_id) => {
      const response = await post('/token', {
        grant_type: 'urn:openid:params:grant-type:ciba',
        auth_req_id,
      })
      const { id_token } = JSON.parse(response) as { id_token?: string }
      if (id_token === undefined) throw new Error('the peer gave no ID token')
    })
  }
  return {}
})

function postAs(
  client: ClientAuthentication,
  secrets: CibaSecrets,
  { port, path, form }: { port: number; path: string; form: Record<string, string> },
): Promise<string> {
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }
  const fields = { ...form }
  if (client === 'client_secret_basic')
    headers.authorization = `Basic ${Buffer.from(`${client}:${secrets.clientSecret}`).toString('base64')}`
  else {
    fields.client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    fields.client_assertion = clientAssertion(client, secrets)
  }
  return send({
    port,
    method: 'POST',
    path,
    headers,
    payload: new URLSearchParams(fields).toString(),
  })
}

function clientAssertion(client: string, { clientKey }: CibaSecrets): string {
  const now = Math.floor(Date.now() / 1_000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    iss: client,
    sub: client,
    aud: ISSUER,
    jti: randomUUID(),
    iat: now,
    exp: now + 60,
  }
  const signed = `${part({ alg: 'ES256' })}.${part(claims)}`
  const key = createPrivateKey({ key: { ...clientKey }, format: 'jwk' })
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}
