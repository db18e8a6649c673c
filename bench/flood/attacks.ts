import { BROWSER_PROOF } from '../../tests/harness/browser-proof.ts'
import { PAGE_ORIGIN } from '../bench-service.ts'
import type { AttackedService, Attacker } from './attacker.ts'

/** A flood against the service. It runs until the attacker's time or connections run out. */
export type Attack = (attacker: Attacker, service: AttackedService) => Promise<void>

const JUNK_BYTES = 65_000
const PROOF_BYTES = 8_000
const JUNK_BURST = 500
const JUNK_BURST_EVERY_MS = 3_500
const PIPELINES = 20
const PIPELINED_REQUESTS = 1_300
const SLOW_BODIES = 4_000
const SLOW_BODY_BYTES = 250_000
const IDLE_SOCKETS = 8_000
const CHANNELS = 8_000
/** The number of channels on the first session. The others are spread over all sessions. */
const CHANNELS_OF_ONE_SESSION = 4_000
/** The floods of the benchmark, by name. The numbers are those of observed attacks. */
export const ATTACKS = {
  /** Bursts of 500 large bodies that are not JSON, with and without a well-formed credential. */
  async 'junk bodies'(attacker) {
    const body = Buffer.alloc(JUNK_BYTES, 'x')
    while (!attacker.isOver()) {
      for (let index = 0; index < JUNK_BURST; index++) {
        const token = index % 2 ? 'junk' : `dt_${'0'.repeat(10)}_${'0'.repeat(43)}`
        const socket = attacker.open()
        socket?.write(
          post('/api/v1/attestations', JUNK_BYTES, [`authorization: Bearer ${token}`, CLOSE]),
        )
        socket?.write(body)
      }
      await attacker.pause(JUNK_BURST_EVERY_MS)
    }
  },

  /** Bursts of 500 proofs of a browser, whole and with the watch token, before a phone approved. */
  async 'browser proofs'(attacker, { sessions, publishableKey }) {
    const proof = JSON.stringify(BROWSER_PROOF).padEnd(PROOF_BYTES)
    while (!attacker.isOver()) {
      for (let index = 0; index < JUNK_BURST; index++) {
        const { id, watch_token } = sessions[index % sessions.length] as Session
        const headers = [
          `authorization: Bearer ${publishableKey}`,
          `origin: ${PAGE_ORIGIN}`,
          `x-bond-watch: ${watch_token}`,
          CLOSE,
        ]
        const socket = attacker.open()
        socket?.write(post(`/api/v1/sessions/${id}/browser`, PROOF_BYTES, headers) + proof)
      }
      await attacker.pause(JUNK_BURST_EVERY_MS)
    }
  },

  /** Sockets that pipeline requests for a large static document and never read. */
  async pipelining(attacker) {
    const requests = 'GET /api/v1/openapi.json HTTP/1.1\r\nhost: flood\r\n\r\n'
    await attacker.keepOpen(PIPELINES, () => {
      const socket = attacker.open()
      socket?.pause()
      socket?.write(requests.repeat(PIPELINED_REQUESTS))
      return socket
    })
  },

  /** Registrations whose body pauses shortly before its end and then continues byte by byte. */
  async 'slow bodies'(attacker) {
    const bodyStart = Buffer.alloc(SLOW_BODY_BYTES, ' ')
    await attacker.keepOpen(SLOW_BODIES, () => {
      const socket = attacker.open()
      socket?.write(post('/api/v1/devices', SLOW_BODY_BYTES + 1_000))
      socket?.write(bodyStart)
      const drip = setInterval(() => socket?.write(' '), 1_000)
      socket?.once('close', () => clearInterval(drip))
      return socket
    })
  },

  /** Keep-alive sockets that send one request and then stay idle. */
  async 'idle sockets'(attacker) {
    await attacker.keepOpen(IDLE_SOCKETS, () => {
      const socket = attacker.open()
      socket?.write('GET /health/alive HTTP/1.1\r\nhost: flood\r\n\r\n')
      return socket
    })
  },

  /** Channels of one session and of a hundred, whose clients never acknowledge a close. */
  async 'channel floods'(attacker, { sessions }) {
    let opened = 0
    await attacker.keepOpen(CHANNELS, () => {
      const index = opened < CHANNELS_OF_ONE_SESSION ? 0 : opened % sessions.length
      opened += 1
      const socket = attacker.open()
      socket?.write(upgrade(sessions[index] as Session))
      return socket
    })
  },
} satisfies Record<string, Attack>

type Session = AttackedService['sessions'][number]
export type AttackName = keyof typeof ATTACKS

const CLOSE = 'connection: close'

function post(path: string, bytes: number, headers: readonly string[] = []): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: flood',
    'content-type: application/json',
    `content-length: ${bytes}`,
    ...headers,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

function upgrade({ id, watch_token }: { id: string; watch_token: string }): string {
  const lines = [
    `GET /sessions/${id} HTTP/1.1`,
    'host: flood',
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    `sec-websocket-key: ${Buffer.alloc(16).toString('base64')}`,
    `sec-websocket-protocol: bonded.v1, watch.${watch_token}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
