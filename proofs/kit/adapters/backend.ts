import { serveAdapter } from './serve.ts'

/**
 * The control adapter of a service that also has the backend's half of the protocol: a backend that
 * creates sessions (protocol 4).
 */
export function backendAdapter(origin: string, credential: string, port?: number) {
  return serveAdapter(
    {
      async create({ context }) {
        const response = await fetch(`${origin}/api/v1/sessions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
          body: JSON.stringify({ context }),
        })
        const session = (await response.json()) as { id: string; nonce: string }
        if (!response.ok) throw new Error(JSON.stringify(session))
        return { session_id: session.id, nonce: session.nonce }
      },
    },
    port,
  )
}
