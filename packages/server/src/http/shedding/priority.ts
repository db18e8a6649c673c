import {
  ENDPOINTS,
  type Endpoint,
  type EndpointName,
  type Presented,
  type ShedPriority,
} from '@bonded/contract'
import type { IncomingMessage } from 'node:http'

const BY_PATH = new Map(
  (Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]).map(([name, { method, path }]) => [
    `${method} ${path.replaceAll(/\{\w+\}/g, '*')}`,
    name,
  ]),
)
/** The position of an id in `/api/v1/sessions/{id}/…`, split at its slashes. */
const ID_SEGMENT = 4
/** One more segment than the longest path has, so that no longer path equals one of the table. */
const MAX_SEGMENTS = 8

export interface Classified {
  readonly priority: ShedPriority | 'exempt'
  readonly presented: Presented
  /** Undefined for pages, scripts, and paths that do not exist. */
  readonly endpoint: EndpointName | undefined
  /** The id in the path, unverified; empty without one. */
  readonly id: string
}

/** Classifies a request by its request line and the form of its credential. Reads no body. */
export function classify(request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): Classified {
  const { url = '', headers } = request
  // A preflight is worth as much as the request that it precedes.
  const asked = headers['access-control-request-method'] ?? request.method ?? ''
  // Where HEAD is answered, it costs as much as GET.
  const method = asked === 'HEAD' ? 'GET' : asked
  const [path = ''] = url.split('?', 1)
  const segments = path.split('/', MAX_SEGMENTS)
  const id = segments[ID_SEGMENT] ?? ''
  if (id !== '') segments[ID_SEGMENT] = '*'
  const endpoint =
    BY_PATH.get(`${method} ${path}`) ?? BY_PATH.get(`${method} ${segments.join('/')}`)
  // A page or a script is loaded again anyway.
  const { priority: rule }: Pick<Endpoint, 'priority'> =
    endpoint === undefined ? { priority: 'new' } : ENDPOINTS[endpoint]
  const presented = presentedBy(headers.authorization)
  return { priority: typeof rule === 'string' ? rule : rule[presented], presented, endpoint, id }
}

function presentedBy(authorization = ''): Presented {
  if (authorization.startsWith('Bearer sk_')) return 'backend'
  return authorization.startsWith('Bearer dt_') ? 'phone' : 'other'
}
