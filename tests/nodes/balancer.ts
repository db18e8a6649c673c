import { setTimeout as wait } from 'node:timers/promises'
import type { ClusterNode } from '../harness/cluster.ts'
import { choose } from '../pressure/chance.ts'

const PROBE_EVERY_MS = 100
const PROBE_WITHIN_MS = 5_000

/** Sends the calls of clients to nodes that `/health/ready` reports as ready. */
export interface Balancer extends AsyncDisposable {
  /** Fetches URLs below `ORIGIN`. A connection that is refused goes to another node. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  /** The origin of a ready node, to open a channel there. */
  readonly origin: () => string
}

/** The address that clients are given. It is the public origin of the nodes. */
export const ORIGIN = 'http://localhost:1'

/** Starts to probe the nodes. The list may grow; a node that refuses the probe is left out. */
export function balance(nodes: readonly ClusterNode[]): Balancer {
  const ready = new Set<string>(nodes.map(({ origin }) => origin))
  const stopped = new AbortController()
  const probe = async ({ origin }: ClusterNode) => {
    const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(PROBE_WITHIN_MS)])
    const isReady = await fetch(`${origin}/health/ready`, { signal }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.ok
      },
      () => false,
    )
    if (isReady) ready.add(origin)
    else ready.delete(origin)
  }
  // A node that does not answer must not hide that another one drains.
  const running = new Map<ClusterNode, Promise<void>>()
  const probing = (async () => {
    while (!stopped.signal.aborted) {
      for (const node of nodes)
        if (!running.has(node))
          running.set(
            node,
            probe(node).finally(() => running.delete(node)),
          )
      await wait(PROBE_EVERY_MS)
    }
    await Promise.all(running.values())
  })()
  const origin = () => choose([...ready])
  return {
    origin,
    async fetch(url, init) {
      for (;;) {
        stopped.signal.throwIfAborted()
        const node = origin()
        try {
          return await fetch(node + url.slice(ORIGIN.length), init)
        } catch (failure) {
          if (!isRejected(failure)) throw failure
          ready.delete(node)
          while (ready.size === 0) await wait(PROBE_EVERY_MS, undefined, { signal: stopped.signal })
        }
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await probing
    },
  }
}

function isRejected(failure: unknown): boolean {
  if (!(failure instanceof Error)) return false
  const { cause } = failure
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
