import { type Handoff, parseHandoff } from '@bonded/contract'

/** The session that the page's own address names; undefined where the link is not complete. */
export function handoffIn(location: Pick<Location, 'href'>): Handoff | undefined {
  return parseHandoff(location.href)
}
