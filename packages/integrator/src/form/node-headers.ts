import type { ReadHeader } from './cross-site.ts'

/** The headers of Node, which Express and Fastify pass on. */
export type NodeHeaders = Readonly<Record<string, string | string[] | undefined>> & {
  readonly cookie?: string | undefined
}

export function readerOf(headers: NodeHeaders): ReadHeader {
  return (name) => {
    const value = headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }
}
